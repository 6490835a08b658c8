"""The way to a git server: credentials, certificates, the https proxy, servers of Git LFS."""
