"""The execution module `pkg`."""
