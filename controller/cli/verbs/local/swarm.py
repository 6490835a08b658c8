"""`saltern swarm`. Needs nothing of the controller's libraries: it runs where only a minion is installed."""

from __future__ import annotations

import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import msgspec

from controller.cli import options
from controller.cli.failure import OK, UNREACHABLE, USAGE, Failure
from minion.swarm.member import SwarmBehaviour
from minion.swarm.member_keys import check_ids, identities, numbered
from minion.swarm.processes import SwarmPlan, SwarmProcesses, TooManyMembers, processes_for, raise_descriptors
from wire.address import PUBLISH_PORT, REQUEST_PORT, Address
from wire.errors import BadKey
from wire.keys import check_public_key

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_SHOWN = ("connected", "pending", "calls", "runs", "refused", "reconnections")
_COUNTED = (
    "connected", "most_connected", "calls", "runs", "previews", "pending", "rejected", "refused", "reconnections",
    "lost",
)  # fmt: skip
_LOOK_SECONDS = 0.2


@click.command("swarm")
@click.option("--minions", type=click.IntRange(min=1), default=100, show_default=True, help="How many are simulated.")
@click.option("--controller", default="127.0.0.1", show_default=True, metavar="HOST", help="Address of the controller.")
@click.option("--master-port", type=int, default=REQUEST_PORT, show_default=True, help="Its request port.")
@click.option("--publish-port", type=int, default=PUBLISH_PORT, show_default=True, help="Its publish port.")
@click.option("--controller-key", required=True, metavar="KEY", help="What `saltern key controller` prints there.")
@click.option("--relay-key", default="", metavar="KEY", help="Of the relay, where one listens there.")
@click.option("--id-prefix", default="swarm-", show_default=True, help="The ids are this and a number.")
@click.option("--ids-from", type=_FILE, help="A file with an id a line, instead of numbers.")
@click.option("--keep-keys", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Keep their keys.")
@click.option(
    "--token", default="", envvar="SALTERN_ENROLMENT_TOKEN", show_envvar=True, help="Enrolment token for the keys."
)
@click.option("--autosign-grain", "autosign", multiple=True, metavar="NAME=VALUE", help="Shown with the keys.")
@click.option("--grains", type=_FILE, metavar="FILE", help="JSON with grains that all members have.")
@click.option("--fail-percent", type=click.FloatRange(0, 100), default=0.0, help="Of calls and runs that fail.")
@click.option("--delay", type=click.FloatRange(min=0), default=0.0, metavar="SECS", help="Until they answer.")
@click.option(
    "--pace", type=click.FloatRange(min=1), default=1000.0, show_default=True, help="Connections begun a second."
)
@click.option("--processes", type=click.IntRange(1, 64), default=None, help="Default: as few as the limits allow.")
@click.option("--duration", type=click.FloatRange(min=0), default=None, metavar="SECS", help="Default: until Ctrl-C.")
@click.option("--out", "--output", "out", type=click.Choice(["text", "json"]), default="text", show_default=True)
def swarm_command(duration: float | None, out: str, **given: Any) -> int:
    """Simulate minions that connect, answer and run nothing, for load tests and capacity planning.

    They have keys of their own and speak the real protocol. Point it at a controller that you may load: each member
    becomes a minion there.
    """
    plan = _plan(given)
    watch = _SwarmWatch(plan, shows=out == "text" and sys.stderr.isatty())
    swarm = SwarmProcesses(plan)
    with _ends_by_signal() as ended:
        swarm.start()
        try:
            watch.follow(swarm, duration, ended)
        finally:
            swarm.stop()
    counts = swarm.counts()
    _show(watch.summary(counts), out)
    if counts["ended"]:
        raise Failure("a process of the swarm has broken down", hint="its error is above; fewer members?")
    return OK if counts["most_connected"] or counts["pending"] or counts["rejected"] else UNREACHABLE


def _plan(given: Mapping[str, Any]) -> SwarmPlan:
    try:
        for key in filter(None, (given["controller_key"], given["relay_key"])):
            check_public_key(key)
        ids = _ids(given)
        processes = processes_for(len(ids), raise_descriptors(), given["processes"] or 0)
        members = identities(ids, given["keep_keys"])
    except (BadKey, TooManyMembers) as error:
        raise Failure(str(error), USAGE) from error
    return SwarmPlan(
        members=members,
        address=Address(
            host=given["controller"],
            publish_port=given["publish_port"],
            request_port=given["master_port"],
            controller_key=given["controller_key"],
            relay_key=given["relay_key"],
        ),
        behaviour=_behaviour(given),
        pace=given["pace"],
        processes=processes,
    )


def _ids(given: Mapping[str, Any]) -> list[str]:
    if given["ids_from"] is None:
        return numbered(given["id_prefix"], given["minions"])
    ids = [line.strip() for line in given["ids_from"].read_text().splitlines() if line.strip()]
    check_ids(ids)
    if not ids:
        raise Failure(f"{given['ids_from']} names nobody", USAGE, hint="write an id a line")
    return ids


def _behaviour(given: Mapping[str, Any]) -> SwarmBehaviour:
    grains: dict[str, Any] = {}
    if given["grains"] is not None:
        try:
            grains = msgspec.json.decode(given["grains"].read_bytes(), type=dict[str, Any])
        except msgspec.MsgspecError as error:
            raise Failure(f"{given['grains']}: no JSON mapping of grains: {error}", USAGE) from error
    pairs = [each.partition("=") for each in given["autosign"]]
    if any(not between for _, between, _ in pairs):
        raise Failure("--autosign-grain is NAME=VALUE", USAGE)
    return SwarmBehaviour(
        grains=grains,
        token=given["token"],
        autosign_grains={name: value for name, _, value in pairs},
        fail_percent=given["fail_percent"],
        delay=given["delay"],
    )


@contextmanager
def _ends_by_signal() -> Iterator[list[int]]:
    """A list that has something in it once Ctrl-C or SIGTERM has come."""
    came: list[int] = []
    before = {number: signal.signal(number, lambda *_: came.append(1)) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _SwarmWatch:
    """Follows what the processes tell."""

    def __init__(self, plan: SwarmPlan, *, shows: bool) -> None:
        self._plan = plan
        self._shows = shows
        self._began = time.monotonic()
        self._all_after: float | None = None

    def follow(self, swarm: SwarmProcesses, duration: float | None, ended: list[int]) -> None:
        """Until so many seconds are over, or `ended` has something in it, or a process has broken down."""
        until = self._began + duration if duration is not None else float("inf")
        while not ended and time.monotonic() < until and not swarm.counts()["ended"]:
            swarm.wait(max(0.0, min(_LOOK_SECONDS, until - time.monotonic())))
            self._look(swarm.counts())
        if self._shows:
            click.echo("\r\033[K", nl=False, err=True)

    def _look(self, counts: Counter[str]) -> None:
        if self._all_after is None and counts["connected"] == len(self._plan.members):
            self._all_after = round(time.monotonic() - self._began, 3)
        if self._shows:
            click.echo("\r\033[K" + "  ".join(f"{name} {counts[name]}" for name in _SHOWN), nl=False, err=True)

    def summary(self, counts: Counter[str]) -> dict[str, int | float | None]:
        """What came of it. `connected_after`: seconds until all were connected; None: they never were."""
        return {
            "members": len(self._plan.members),
            "processes": self._plan.processes,
            "seconds": round(time.monotonic() - self._began, 3),
            "connected_after": self._all_after,
            **{name: counts[name] for name in _COUNTED},
        }


def _show(summary: Mapping[str, int | float | None], out: str) -> None:
    if out == "text":
        for name, value in summary.items():
            click.echo(f"{name.replace('_', ' ')}: {'-' if value is None else value}")
    else:
        click.echo(
            msgspec.json.format(msgspec.json.encode({"schema_version": options.SCHEMA_VERSION, **summary}), indent=2)
        )
