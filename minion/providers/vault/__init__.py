"""HashiCorp Vault or OpenBao: requests, tokens, and the secrets of key-value engines."""
