"""Execution modules of servers that keep values by keys, and of databases."""
