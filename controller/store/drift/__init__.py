"""What was seen of states that drifted."""
