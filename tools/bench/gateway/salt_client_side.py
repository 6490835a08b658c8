"""Runs in a virtualenv that has Salt, beside a master: what `gateway` asks LocalClient for.

    python salt_client_side.py MASTER_CONFIG MINIONS

Reads `ping` or `apply` from its input, a line each, and writes `all` when all minions have answered, `some` when not.
"""

from __future__ import annotations

import sys

_FUNCTIONS = {"ping": "test.ping", "apply": "state.apply"}


def main(config: str, minions: int) -> None:
    """Do what is asked until there is nothing more."""
    import salt.client
    from salt.exceptions import SaltClientError

    client = salt.client.LocalClient(c_path=config)
    for line in sys.stdin:
        what = line.strip()
        try:
            found = client.cmd("m*", _FUNCTIONS[what], timeout=120)
        except SaltClientError:  # the master has not started yet
            found = {}
        good = [each for each in found.values() if each is True or (what == "apply" and isinstance(each, dict))]
        sys.stdout.write("all\n" if len(good) == minions else "some\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
