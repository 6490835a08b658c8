"""Verbs of rollouts and rollbacks."""
