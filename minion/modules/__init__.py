"""Execution modules under their Salt names; `minion.execution` finds and calls them."""
