"""What developers run: benchmarks, comparisons with Salt, fuzzing, generated documents. Not installed."""
