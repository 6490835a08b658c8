"""Tables of notifications."""
