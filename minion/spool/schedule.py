"""Names of the files that hold the schedule in the minion's cache, for the agent and the functions of `schedule`."""

SCHEDULE_FILE = "schedule.json"
"""`schedule` (jobs that are not the pillar's), `asked` (job -> id of a request to run it now), `skipped` and
`added` (job -> times at which it does not run, or runs besides, in seconds since the epoch)."""

UNREPORTED = "scheduled-untold-"
"""How ids of runs begin whose results stay on the minion."""

DUE_FILE = "schedule.due.json"
"""By job: `due` and `last` (seconds since the epoch), `skipped` (when, and why)."""
