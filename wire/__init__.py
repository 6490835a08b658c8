"""Messages, framing, keys and authenticated ZeroMQ sockets. Knows no SLS."""
