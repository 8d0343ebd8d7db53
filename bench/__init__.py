"""Benchmarks: every figure is a ratio to what the disk does, both taken in one run."""
