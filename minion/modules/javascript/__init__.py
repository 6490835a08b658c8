"""Execution modules of JavaScript."""
