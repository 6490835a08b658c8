"""Verbs that work on files and need no controller."""
