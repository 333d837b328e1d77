"""Programs for the repository itself."""
