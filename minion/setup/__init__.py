"""Setting up a machine: its configuration and key (`joining`), units of systemd (`units`)."""
