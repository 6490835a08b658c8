"""The execution modules `network`, `dig`, `dnsutil`, `hosts`, `http` and `iptables`."""
