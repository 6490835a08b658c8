"""What the agent does by itself: its schedule, its beacons."""
