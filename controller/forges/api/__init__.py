"""Requests to the APIs of forges, as the clients of all kinds make them."""
