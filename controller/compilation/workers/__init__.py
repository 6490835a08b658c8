"""Compile workers: their processes, and what is taken from them."""
