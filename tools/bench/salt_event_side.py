"""Runs in a virtualenv that has Salt, beside a master and its minions: what `salt_events` asks for.

    python salt_event_side.py MASTER_CONFIG job|read TIMES

`job`: seconds from `event.send` on web1 until the function that a reactor calls on web2 has begun, TIMES of them.
`read`: microseconds an event of TIMES that a process fires, at one that reads them; three of them. A JSON list.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from typing import Any


def main(config: str, what: str, times: int) -> None:
    """Measure, and print."""
    import salt.config

    opts = salt.config.master_config(config)
    samples = _jobs(opts, times) if what == "job" else [_read(opts, times) for _ in range(3)]
    sys.stdout.write(json.dumps(samples) + "\n")


def _jobs(opts: Any, times: int) -> list[float]:
    import salt.client
    import salt.utils.event

    client = salt.client.LocalClient(mopts=opts)
    client.cmd("*", "saltutil.sync_modules")
    samples = []
    with salt.utils.event.get_master_event(opts, opts["sock_dir"], listen=True) as bus:
        bus.connect_pub()
        for _ in range(times + 1):
            client.cmd("web1", "bench.fire", ["bench/sls"])
            while True:
                got = bus.get_event(wait=60, tag="salt/job/", full=True, match_type="startswith")
                if got is None:
                    sys.exit("Salt's reactor did not answer")
                if got["tag"].endswith("/ret/web2") and got["data"]["fun"] == "bench.started":
                    samples.append(float(got["data"]["return"]))
                    break
    return samples[1:]


def _read(opts: Any, times: int) -> float:
    import salt.utils.event

    ready = multiprocessing.Event()
    with salt.utils.event.get_master_event(opts, opts["sock_dir"], listen=True) as bus:
        bus.connect_pub()
        firing = multiprocessing.Process(target=_fire, args=(opts, times, ready))
        firing.start()
        ready.wait()
        first = 0.0
        for number in range(times):
            if bus.get_event(wait=60, tag="bench/flood", match_type="startswith") is None:
                sys.exit(f"Salt lost events: {number} of {times} came")
            first = first or time.perf_counter()
        took = time.perf_counter() - first
        firing.join()
    return took / times * 1e6


def _fire(opts: Any, times: int, ready: Any) -> None:
    import salt.utils.event

    with salt.utils.event.get_master_event(opts, opts["sock_dir"], listen=False) as bus:
        ready.set()
        for number in range(times):
            bus.fire_event({"id": f"web{number % 100}", "1m": 3.0}, "bench/flood")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
