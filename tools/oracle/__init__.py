"""Comparisons with real Salt, in a virtualenv of its own: `make oracle`, and what records goldens."""
