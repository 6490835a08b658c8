"""States of the system's own programs: jobs of at(1), keyboards, logs, clocks and kernels."""
