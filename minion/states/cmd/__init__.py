"""The state module `cmd`."""
