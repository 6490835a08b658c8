"""The execution module `vault`."""
