"""What people and Prometheus see: metrics, the event log, chains of causes, redaction."""
