"""The execution module `kubernetes`."""
