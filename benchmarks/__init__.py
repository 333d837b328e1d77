"""What manyview costs and how good it is, measured.

Run from the root of the repository: `python -m benchmarks.speed.bench_fit`.
"""
