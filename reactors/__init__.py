"""Events: the bus, tags, schedules. Beacons, reactor rules and orchestration have their room here."""
