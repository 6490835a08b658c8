"""Execution modules of PHP."""
