"""Receivers of notifications: the port, and an adapter a service."""
