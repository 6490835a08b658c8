"""The bare mirror of a remote: its storage, fetches, updates of refs, garbage collection."""
