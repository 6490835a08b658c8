"""The state module `pkgrepo`."""
