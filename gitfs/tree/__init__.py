"""Trees of files out of repositories and folders: objects, snapshots, overlays, saltenvs. Fetches nothing."""
