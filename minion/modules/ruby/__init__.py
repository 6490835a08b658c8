"""Execution modules of Ruby."""
