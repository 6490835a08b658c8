"""Where the fleet, its environments and its waves stand."""
