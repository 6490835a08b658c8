"""The HTTP API. `serving` puts it up; the admin API is for the command line, the public one for forges and Prometheus."""
