"""The state module `git`."""
