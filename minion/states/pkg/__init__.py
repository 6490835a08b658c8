"""The state module `pkg`."""
