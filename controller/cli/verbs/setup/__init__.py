"""Verbs that set up this machine."""
