"""Execution modules of disks."""
