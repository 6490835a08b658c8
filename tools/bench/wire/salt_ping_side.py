"""Runs in a virtualenv that has Salt, beside a master: what `salt_ping` asks for.

    python salt_ping_side.py MASTER_CONFIG MINION TIMES

Prints the seconds of each `test.ping` by `LocalClient` as a JSON list; the first is not among them.
"""

from __future__ import annotations

import json
import sys
import time


def main(config: str, minion: str, times: int) -> None:
    """Measure, and print."""
    import salt.client
    import salt.config

    client = salt.client.LocalClient(mopts=salt.config.master_config(config))
    samples = []
    for _ in range(times + 1):
        began = time.perf_counter()
        if client.cmd(minion, "test.ping") != {minion: True}:
            sys.exit("the minion of Salt has not answered")
        samples.append(time.perf_counter() - began)
    sys.stdout.write(json.dumps(samples[1:]) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
