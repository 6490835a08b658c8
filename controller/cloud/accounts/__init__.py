"""Accounts of clouds: what machines there are, and making and destroying them."""
