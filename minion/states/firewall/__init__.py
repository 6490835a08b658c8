"""Firewalls other than iptables: states of firewalld, nftables and ipset."""
