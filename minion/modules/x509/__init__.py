"""The execution module `x509`."""
