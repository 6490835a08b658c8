"""Execution modules of firewalls: firewalld, nftables, ipset."""
