"""Runs of states by real Salt and by us, in one shape."""
