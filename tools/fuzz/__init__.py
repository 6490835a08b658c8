"""`make fuzz`."""
