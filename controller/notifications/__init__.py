"""Notifications: what holds is found, routed, grouped, kept in a spool and sent to receivers."""
