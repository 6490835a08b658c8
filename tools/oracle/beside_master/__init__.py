"""The same tree on a stock salt-minion under a real salt-master, and under a controller with the gateway."""
