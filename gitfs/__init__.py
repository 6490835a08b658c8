"""Git remotes in, immutable trees of files out. Knows nothing of Salt but its option names."""
