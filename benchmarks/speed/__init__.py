"""Time, memory and growth."""
