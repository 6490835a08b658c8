"""The execution module `schedule`."""
