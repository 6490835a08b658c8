"""The dashboard: pages that a browser loads from the port of the API, and which ask the API alone."""
