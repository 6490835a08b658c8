"""The execution module `git`."""
