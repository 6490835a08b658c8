"""Salt's protocol, version 3, as a master speaks it. Knows no controller, no job and no state."""
