"""The methods beside their papers and published programs."""
