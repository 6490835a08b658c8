"""The state module `helm`."""
