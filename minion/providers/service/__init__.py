"""Service managers behind one port."""
