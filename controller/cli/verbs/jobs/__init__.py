"""Verbs about jobs and about the minions that they reach."""
