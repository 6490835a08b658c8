"""Runs that the reconcile loop asks minions for: their start, their causes, those without a result."""
