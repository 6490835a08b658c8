"""What a branch would change, before it is merged."""
