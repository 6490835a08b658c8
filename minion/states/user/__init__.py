"""The state module `user`."""
