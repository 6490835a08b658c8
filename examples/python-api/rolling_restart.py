#!/usr/bin/env python3
"""Restart a service on some minions at a time, and stop when one does not come back.

    rolling_restart.py 'web*' nginx
    rolling_restart.py 'web*' nginx --batch 25% --check 'curl -fsS http://localhost/healthz'

Each minion is restarted, then checked; a batch begins when the one before it is well. What is done is said as events
`deploy/restart/MINION`, which reactors and dashboards can read.
"""

import argparse
import sys

from saltern.client import LocalClient


def main() -> int:
    """0 when all are well, else 1."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target")
    parser.add_argument("service")
    parser.add_argument("--batch", default="25%")
    parser.add_argument("--check", default="", help="a command that succeeds on a minion that is well")
    given = parser.parse_args()
    command = f"systemctl restart {given.service}" + (f" && {given.check}" if given.check else "")
    with LocalClient() as local:
        done = local.cmd_batch(
            given.target, "cmd.run_all", [], kwarg={"cmd": command}, batch=given.batch, failhard=True, raw=True
        )
        for one in done:
            data = one["data"]
            well = data["retcode"] == 0 and data["return"]["retcode"] == 0
            local.event.fire_event({"service": given.service, "well": well}, f"deploy/restart/{data['id']}")
            print(data["id"], "is well" if well else f"is not well: {data['return']}")  # noqa: T201
            if not well:
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
