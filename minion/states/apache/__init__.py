"""States of the Apache HTTP server."""
