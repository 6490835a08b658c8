"""The log of the controller: its lines, and the secrets that are taken out of them."""
