"""Rules, chains and policies of iptables."""
