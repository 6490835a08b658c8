"""`test.ping` to all of a swarm and to one of it, each beside the bare echo of the same frames in the same minute."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping

from tools.bench.figures import Figure
from tools.bench.wire.bare_echo import BareEcho
from tools.bench.wire.scene import WireScene

TIMES = 10
TIMES_OF_ONE = 20
TIMES_OF_COMMAND = 5


def ping_figures(scene: WireScene, salt: Mapping[str, float]) -> Iterator[Figure]:
    """Seconds until all have answered, and how many times the bare echo that is.

    Args:
        scene: with all connected.
        salt: what Salt takes for one minion (`salt_ping`).
    """
    count = scene.minions
    with BareEcho(count, scene.processes) as bare:
        echoes, whole, pings = [], [], []
        bare.echo()
        bare.ping()
        bare_computing = controller_computing = 0.0
        with scene.client() as client:
            scene.ping("*", count, client)
            for _ in range(TIMES):  # in turn: this machine has other work, too
                bare.echo()  # after a pause the first is slower
                before = bare.computing()
                echoes.append(bare.echo())
                bare_computing += bare.computing() - before
                whole.append(bare.ping())
                before = scene.computing()
                pings.append(scene.ping("*", count, client))
                controller_computing += scene.computing() - before
    echo = statistics.median(echoes)
    yield Figure(
        metric=f"wire: test.ping of {count} minions by the API",
        unit="s",
        samples=pings,
        reference=echo,
        reference_of="bare CURVE echo",
        target=max(0.15, count / 10_000),
    )
    yield Figure(
        metric=f"wire: test.ping of {count}, as a multiple of the bare echo (call and result)",
        unit="x",
        samples=[ping / echo for ping in pings],
        target=2.0,
    )
    yield Figure(
        metric=f"wire: test.ping of {count}, as a multiple of the bare echo of all its frames",
        unit="x",
        samples=[ping / statistics.median(whole) for ping in pings],
        target=2.0,
    )
    yield Figure(
        metric="wire: processor time of the controller for the test.ping of a minion",
        unit="us",
        samples=[controller_computing / (TIMES * count) * 1e6],
        reference=bare_computing / (TIMES * count) * 1e6,
        reference_of="ROUTER of the echo",
    )
    yield from _of_one(scene, salt)


def _of_one(scene: WireScene, salt: Mapping[str, float]) -> Iterator[Figure]:
    one = f"swarm-{1:0{len(str(scene.minions))}}"
    with scene.client() as client:
        scene.ping(one, 1, client)
        samples = [scene.ping(one, 1, client) for _ in range(TIMES_OF_ONE)]
    yield Figure(
        metric=f"wire: test.ping of 1 of {scene.minions} minions by the API",
        unit="s",
        samples=samples,
        reference=salt.get("api"),
        reference_of="Salt's LocalClient",
        target=0.01,
    )
    yield Figure(
        metric=f"wire: test.ping of 1 of {scene.minions} minions by the command line",
        unit="s",
        samples=[_command(scene, one) for _ in range(TIMES_OF_COMMAND)],
        reference=salt.get("command"),
        reference_of="Salt",
        target=0.2,
    )


def _command(scene: WireScene, target: str) -> float:
    began = time.perf_counter()
    scene.rig.saltern("run", target, "test.ping")
    return time.perf_counter() - began
