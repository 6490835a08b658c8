"""The execution module `saltcheck`."""
