"""Git in, immutable file trees out. Knows nothing of Salt."""
