"""Builds the Debian packages and the RPMs of this tree: `make packages`."""
