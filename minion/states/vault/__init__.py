"""States of a Vault or OpenBao server."""
