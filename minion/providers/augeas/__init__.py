"""Files as trees, by the library Augeas."""
