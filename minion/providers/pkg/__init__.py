"""Package managers behind one port."""
