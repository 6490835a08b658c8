"""What people and Prometheus see: metrics, redaction, plans as text."""
