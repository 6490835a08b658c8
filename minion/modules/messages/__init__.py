"""Execution modules that send messages to people."""
