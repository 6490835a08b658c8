"""syslog-ng: its configuration and its daemon."""
