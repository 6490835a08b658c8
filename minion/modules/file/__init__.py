"""The execution module `file`."""
