"""Recorded reads, and memoised results that are looked up by them."""
