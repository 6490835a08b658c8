"""Configuration files: options with the places where they stand, and their conversion to declared types."""
