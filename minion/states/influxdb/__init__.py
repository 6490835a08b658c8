"""States of InfluxDB 1.x: databases, users, retention policies, continuous queries."""
