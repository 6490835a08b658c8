"""Salt's Jinja filters, tests and globals."""
