"""The long-running process: connection, runs, schedules, drift. Idle it holds neither YAML nor Jinja in memory."""
