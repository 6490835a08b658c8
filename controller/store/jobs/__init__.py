"""Jobs as they were asked for."""
