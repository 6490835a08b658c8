"""Execution modules that ask the operating system: disks, mounts, processes, services, kernel, time."""
