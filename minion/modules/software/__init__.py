"""Execution modules of software that does not come from the system's package manager."""
