"""Events and jobs go to returners: collected from the bus, kept on disk, delivered by a process for each returner."""
