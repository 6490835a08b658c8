"""HashiCorp Vault or OpenBao: the option `vault`, requests, and the secrets of key-value engines."""
