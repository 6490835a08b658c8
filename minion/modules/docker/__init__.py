"""The execution module `docker`."""
