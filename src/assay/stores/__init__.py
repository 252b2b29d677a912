"""Stores keep what was read and scored.

A store is a module or package here (or an entry point `assay.stores`) with `SCHEMES`, the URL schemes it
serves, and `open_store(url)`. All of them pass the same contract suite (`tests/stores`).

Takes and gives `assay.types` values; imports types, errors, plugins and `sessions`. Stores do not know each other.
"""
