"""Orchestrations that have not ended."""
