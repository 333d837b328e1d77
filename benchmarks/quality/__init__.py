"""Agreement with known classes, and what the package says of itself."""
