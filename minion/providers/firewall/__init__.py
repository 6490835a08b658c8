"""Ask and tell the programs of firewalls: firewall-cmd, nft, ipset."""
