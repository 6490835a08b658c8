"""The execution modules `network`, `dnsutil`, `hosts` and `http`."""
