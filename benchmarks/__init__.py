"""What manyview costs and how good it is, measured; run as `python -m benchmarks.speed.bench_fit`."""
