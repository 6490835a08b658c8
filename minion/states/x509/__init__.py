"""The state module `x509`."""
