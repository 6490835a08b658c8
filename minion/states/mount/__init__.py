"""The state module `mount`."""
