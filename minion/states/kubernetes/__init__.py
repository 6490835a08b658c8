"""The state module `kubernetes`."""
