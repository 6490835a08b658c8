"""The HTTP API: `serving` puts it up; `admin` is for the command line, `public` for forges and Prometheus."""
