"""The two sides of a preview: which trees, what policy says of them, whom the change concerns, and their compiles."""
