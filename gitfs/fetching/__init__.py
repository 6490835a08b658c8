"""Fetches in child processes: one that hangs or dies does no harm to the process that asked for it."""
