"""The Apache HTTP server: what Debian's programs switch on and off, and configuration from data."""
