"""Names of the files that hold the schedule in the minion's cache, for the agent and the functions of `schedule`."""

SCHEDULE_FILE = "schedule.json"
"""`schedule` (jobs that are not the pillar's), `asked` (job -> id of a request to run it now), `skipped`."""

UNREPORTED = "scheduled-untold-"
"""How ids of runs begin whose results stay on the minion."""

DUE_FILE = "schedule.due.json"
"""Job -> when it is due, in seconds since the epoch."""
