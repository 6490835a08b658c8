"""The state modules `ssh_auth` and `ssh_known_hosts`."""
