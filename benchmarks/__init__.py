"""Benchmarks: a synthetic corpus and one table that sets assay beside its peers. Asserts nothing."""
