"""Execution modules of keyrings and certificates."""
