"""Commands that curate data sets; each module holds one command."""
