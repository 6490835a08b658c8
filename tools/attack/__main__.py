"""`make attack [ONLY=name]`: each attack on a running controller with three honest minions, and what these saw.

Prints a JSON line an attack on stdout and a table on stderr. The exit code is 1 when a figure was missed.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rig import Rig, free_ports
from salt_peer import SaltPeer
from stock_minions import StockMinions

from controller.config.settings import load_settings
from controller.store import Store
from tools.attack.attacks import Attack, all_attacks, run_attack
from tools.attack.far_server import far_remotes, honest_server
from tools.attack.gateway import HONEST, HOSTILE_STOCK
from tools.attack.scene import HOSTILE, Scene, new_key
from tools.attack.witness import Seen, Witness
from wire.codec import encode
from wire.keys import load_or_create
from wire.messages import KeyRequest

MINIONS = {"web1": {"roles": ["web"]}, "web2": {"roles": ["web"]}, "db1": {"roles": ["db"]}}
STATES = """app:
  file.managed:
    - name: {{ grains['root'] }}/app.conf
    - contents: number {{ pillar['number'] }}
    - makedirs: True
"""

GATEWAY_SECONDS = 2.0
"""How long a request of a stock minion may take."""
GROWTH = 128.0
GROWTH_OF_STRANGERS = 64.0
LEFT = 32.0
"""MiB above the baseline a minute after."""


def main() -> int:
    """Run the attacks that were asked for; the exit code."""
    known = all_attacks()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="the attacks whose name begins so")
    parser.add_argument("--seconds", type=float, default=15.0, help="of each attack")
    parser.add_argument("--after", type=float, default=60.0, help="seconds to wait for memory to come back")
    parser.add_argument("--list", action="store_true", help="list the attacks")
    arguments = parser.parse_args()
    chosen = [name for name in known if name.startswith(arguments.only)]
    if arguments.list or not chosen:
        sys.stdout.writelines(f"{name:32} {attack.summary}\n" for name, attack in known.items())
        return 0 if arguments.list else 64
    console = Console(stderr=True, width=None if sys.stderr.isatty() else 160)
    results = {}
    for name in chosen:
        with console.status(f"attack {name}: {known[name].summary} …"):
            results[name] = seen = under_attack(name, arguments.seconds, arguments.after)
        sys.stdout.write(json.dumps({"attack": name, "missed": missed(name, seen), **seen.as_json()}) + "\n")
        sys.stdout.flush()
    console.print(_table(results))
    return int(any(missed(name, seen) for name, seen in results.items()))


def under_attack(name: str, seconds: float, after: float) -> Seen:
    """Figures of one attack on a controller of its own."""
    with scene_of_a_controller(all_attacks()[name]) as (rig, scene, push):
        witness = Witness(rig, list(MINIONS), push)
        context = multiprocessing.get_context("spawn")
        stop = context.Event()
        attacker = context.Process(target=run_attack, args=(name, scene, stop))
        asked = threading.Event()
        asking = threading.Thread(target=_ask_gateway, args=(scene, witness.seen, asked), daemon=True)
        attacker.start()
        if scene.gateway_port:
            asking.start()
        try:
            witness.watch(seconds)
        finally:
            asked.set()
            stop.set()
            attacker.join(10)
            if attacker.is_alive():
                attacker.kill()
                attacker.join()
            elif attacker.exitcode:
                witness.seen.errors.append(f"the attack itself failed (exit {attacker.exitcode})")
        witness.settle(after, LEFT)
        return witness.seen


@contextmanager
def scene_of_a_controller(attack: Attack) -> Iterator[tuple[Rig, Scene, Pusher]]:
    """A controller with three honest minions and an accepted key of a fourth, which the attackers have."""
    with tempfile.TemporaryDirectory(prefix="sa-", ignore_cleanup_errors=True) as base:
        folder = Path(base)
        (folder / "attack").mkdir()
        (far_port,) = free_ports(1)
        options = _options(folder / "rig/remote.git", far_port, attack)
        with Rig(folder / "rig", MINIONS, _tree(folder / "tree", attack.tree), options) as rig:
            with honest_server(folder / "far", far_port, attack.far_remotes):
                rig.up()
                push = Pusher(rig)
                rig.wait_applied(push(), list(MINIONS))
                scene = _scene(rig, folder / "attack", far_port)
                _accept(rig, scene)
                if attack.pending_keys:
                    _fill(rig, attack.pending_keys)
                    rig.wait_applied(push(), list(MINIONS))
            with _gateway(rig, scene) if attack.gateway else nullcontext(scene) as found:
                yield rig, found, push


@contextmanager
def _gateway(rig: Rig, scene: Scene) -> Iterator[Scene]:
    """A gateway beside the controller, with two accepted stock minions: the honest one, and that of the attackers."""
    with StockMinions(rig, scene.folder / "stock") as stock:
        stock.start_gateway()
        for minion in (HONEST, HOSTILE_STOCK):
            with SaltPeer(scene.folder, minion, stock.ret_port) as peer:
                (scene.folder / f"{minion}.pub").write_text(peer.key.pem)
                peer.authenticate()
                rig.saltern("key", "accept", minion, "--yes")
                stock.wait("it is let in", lambda peer=peer: isinstance(peer.authenticate(), dict))
        yield replace(scene, gateway_port=stock.ret_port, gateway_publish_port=stock.publish_port)


def _ask_gateway(scene: Scene, seen: Seen, stop: threading.Event) -> None:
    """What the honest stock minion sees, by one connection as salt-minions have it."""
    with SaltPeer(scene.folder, HONEST, scene.gateway_port, keeps=True) as peer:
        peer.authenticate()
        while not stop.wait(0.2):
            began = time.monotonic()
            try:
                if peer.ask("verify_minion") is not True:
                    seen.errors.append("gateway: the honest minion was refused")
            except AssertionError as error:
                seen.errors.append(f"gateway: {error}")
                return
            seen.gateway.append(time.monotonic() - began)


def _options(remote: Path, far_port: int, attack: Attack) -> dict[str, Any]:
    """What the controller is told beside what every rig tells it."""
    if not attack.far_remotes:
        return dict(attack.options)
    honest = {str(remote): [{"name": "states"}, {"root": "states"}, {"base": "main"}]}
    return {"gitfs_remotes": [honest, *far_remotes(far_port, attack.far_remotes)], **attack.options}


def _scene(rig: Rig, folder: Path, far_port: int) -> Scene:
    publish, request = rig.wire_ports
    return Scene(
        publish_port=publish,
        request_port=request,
        http_port=int(rig.http.rpartition(":")[2]),
        socket=rig.socket,
        controller_key=rig.controller_key,
        key=load_or_create(folder / "minion.key"),
        remote=rig.remote,
        folder=folder,
        config=rig.config,
        far_port=far_port,
    )


class Pusher:
    """Pushes a change for everybody."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self._number = 0

    def __call__(self) -> str:
        """The commit, as the controller labels it."""
        self._number += 1
        (self._rig.work / "pillar/numbers.sls").write_text(f"number: {self._number}\n")
        return self._rig.push(f"number {self._number}")


def _tree(folder: Path, others: Mapping[str, str]) -> Path:
    for path, text in {
        "states/top.sls": "base:\n  '*':\n    - app\n",
        "states/app.sls": STATES,
        "pillar/top.sls": "base:\n  '*':\n    - numbers\n",
        "pillar/numbers.sls": "number: 0\n",
        **others,
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def _accept(rig: Rig, scene: Scene) -> None:
    dealer = scene.dealer()
    dealer.send(encode(KeyRequest(id=HOSTILE)))
    rig.wait("the hostile key", lambda: HOSTILE in rig.keys("pending"))
    rig.saltern("key", "accept", HOSTILE, "--yes")
    dealer.close(linger=0)


def _fill(rig: Rig, count: int) -> None:
    """Have so many keys wait for acceptance, with the controller stopped meanwhile."""
    rig.stop("controller")
    with Store(load_settings(rig.config).store_url) as store, store.transaction():
        for number in range(count):
            store.keys.request(new_key().public, f"pending{number}", time.time())
    rig.start_controller()


def missed(name: str, seen: Seen) -> list[str]:
    """The figures that are not met."""
    growth = GROWTH_OF_STRANGERS if name.startswith("strangers.") else GROWTH
    push_seconds, api_seconds = all_attacks()[name].push_seconds, all_attacks()[name].api_seconds
    checks = {
        f"push > {push_seconds:g} s": max(seen.pushes, default=0) > push_seconds,
        f"gateway > {GATEWAY_SECONDS:g} s": max(seen.gateway, default=0) > GATEWAY_SECONDS,
        f"API > {api_seconds:g} s": max(seen.api, default=0) > api_seconds,
        f"memory > +{growth:g} MiB": seen.most > seen.baseline + growth,
        f"after > +{LEFT:g} MiB": seen.after > seen.baseline + LEFT,
        "loop stalls > 1 s": seen.stalls > 0,
        "processes ended": bool(seen.ended),
        "errors": bool(seen.errors),
    }
    return [what for what, is_missed in checks.items() if is_missed]


def _table(results: dict[str, Seen]) -> Table:
    table = Table(title="What the honest minions saw")
    for column in ("attack", "push s", "API s", "memory MiB", "most", "fetching", "after", "stalls", "ended", "missed"):
        table.add_column(column, justify="left" if column in ("attack", "missed") else "right")
    for name, seen in results.items():
        table.add_row(
            name,
            f"{max(seen.pushes, default=0):.2f}",
            f"{max(seen.api, default=0):.2f}",
            f"{seen.baseline:.0f}",
            f"{seen.most - seen.baseline:+.0f}",
            f"{seen.fetching:.0f}",
            f"{seen.after - seen.baseline:+.0f}",
            f"{seen.stalls:.0f}",
            ", ".join(seen.ended) or "0",
            "; ".join(missed(name, seen)) or "-",
        )
    return table


if __name__ == "__main__":
    sys.exit(main())
