"""Connected minions, and the files that they fetch."""
