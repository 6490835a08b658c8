"""The execution module `saltutil`."""
