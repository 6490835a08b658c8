"""A book on each minion in which `ledger.note` writes that it begins and that it ends, and the comparison of the books.

After a fault, what the controller says of a job on a minion is what the minion did.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from typing import Any

import httpx
from rig import Rig

MODULE = """\
import os
import time


def note(job, seconds=0.2):
    path = os.path.join(__grains__["root"], "ledger")
    _write(path, job + " begin")
    time.sleep(seconds)
    _write(path, job + " end")
    return "noted " + job


def _write(path, line):
    with open(path, "a") as book:
        book.write(line + "\\n")
"""
NEVER_BEGUN = ("unreachable", "refused", "cancelled")


def add_module(rig: Rig) -> None:
    """Put the function into the tree; the next push brings it."""
    (rig.work / "states/_modules").mkdir()
    (rig.work / "states/_modules/ledger.py").write_text(MODULE)


class Ledger:
    """Jobs that were asked of a controller, and what its minions wrote.

    Args:
        rig: of the controller.
        homes: minion -> the rig below which it writes; those of `rig` otherwise.
    """

    def __init__(self, rig: Rig, homes: dict[str, Rig] | None = None) -> None:
        self.rig = rig
        self.homes = homes or dict.fromkeys(rig.minions, rig)
        self._number = 0

    def ask(self, *, seconds: float = 0.2, prefix: str = "job") -> tuple[str, str]:
        """A job to everybody; its id (empty: who asked got no answer) and the name that is written down."""
        self._number += 1
        name = f"{prefix}{self._number}"
        words = ("run", "*", "ledger.note", name, f"seconds={seconds:g}", "--async", "--out", "json")
        begun = self.rig.saltern(*words, check=False)
        return "" if begun.returncode else json.loads(begun.stdout)["jid"], name

    def found(self, name: str) -> str:
        """The id of a job whose asker got no answer, as the controller was killed; empty: there is none."""
        jobs = json.loads(self.rig.saltern("jobs", "list", "--out", "json").stdout)
        return next((job["jid"] for job in jobs if job["args"].split()[:1] == [name]), "")

    def done(self, minion: str, name: str) -> tuple[int, int]:
        """How often it began and ended there."""
        path = self.homes[minion].root(minion) / "ledger"
        lines = Counter(path.read_text().splitlines() if path.exists() else ())
        return lines[f"{name} begin"], lines[f"{name} end"]

    def outcomes(self, jid: str) -> dict[str, str | None]:
        """Minion -> what it came to; None while that may still change: who is away now may come back with a result."""
        job = json.loads(self.rig.saltern("jobs", "show", jid, "--out", "json", check=False).stdout)
        return {one["minion"]: one["outcome"] if one["state"] in ("finished", "") else None for one in job["minions"]}

    def all_connected(self) -> bool:
        """Whether everybody is there."""
        return all(each["connected"] for each in self.rig.status().values())

    def returned(self, jid: str) -> Counter[Any]:
        """Events of returns: who, how often."""
        transport = httpx.HTTPTransport(uds=str(self.rig.socket))
        with httpx.Client(transport=transport, base_url="http://controller/api/v1", timeout=30) as client:
            query = {"tag": f"salt/job/{jid}/ret/*", "since": "3600", "follow": "false", "match": "glob"}
            raw = client.get("/events", params=query).text
            events = map(json.loads, raw.splitlines())
            return Counter(event["data"]["id"] for event in events if "data" in event and "id" in event["data"])

    def reconcile(self, jid: str, name: str, *, told: bool = True, patience: float = 30) -> dict[str, str | None]:
        """Everybody is there, the job is over for each of them, once, and the books agree. What it came to.

        `told`: whether the event of each return is there; one that is not durable may end with its controller.
        """
        self.rig.wait("all to be connected", self.all_connected, patience=patience)
        self.rig.wait(f"{name} to end", lambda: None not in self.outcomes(jid).values(), patience=patience)
        found = self.outcomes(jid)
        assert set(found) == set(self.homes)
        for minion, outcome in found.items():
            begun, ended = self.done(minion, name)
            assert begun <= 1, f"{name} ran twice on {minion}"
            if outcome in ("ok", "changed"):
                assert (begun, ended) == (1, 1), (minion, outcome)
            elif outcome in NEVER_BEGUN:
                assert (begun, ended) == (0, 0), (minion, outcome)
        done = {minion for minion, outcome in found.items() if outcome in ("ok", "changed")}
        if told:
            self.rig.wait("a return of who did it", lambda: done <= set(self.returned(jid)), patience=20)
        assert set(self.returned(jid).values()) <= {1}
        return found

    def reconcile_all(self, jobs: Collection[tuple[str, str]], *, told: bool = True) -> Counter[str | None]:
        """All of these jobs: (id, name). How often each outcome is there. Who has no id was not asked by anybody."""
        came_to: Counter[str | None] = Counter()
        for jid, name in jobs:
            known = jid or self.found(name)
            if known:
                came_to.update(self.reconcile(known, name, told=told, patience=60).values())
            else:
                assert {self.done(minion, name) for minion in self.homes} == {(0, 0)}, "nobody was asked"
        return came_to
