"""The execution module `state`."""
