"""Mutated files through the command: `python -m fuzz.run --cases 10000 --seed 0` from tests/."""
