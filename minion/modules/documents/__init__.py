"""Execution modules of documents that have a structure."""
