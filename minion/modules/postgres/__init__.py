"""Execution functions of PostgreSQL."""
