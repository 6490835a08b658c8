"""The execution module `helm`."""
