"""One edit from a branch to a merge on a rig: previewed, merged, and what came of both."""

from __future__ import annotations

import copy
import os
import random
import shutil
import stat
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rig import Rig

from controller.cli.client import Client
from controller.schema.requests import TargetQuestion
from controller.schema.targets import TargetExpression
from tools.predictions.machines import MachineRig
from tools.predictions.prediction import Prediction, predict
from tools.predictions.site import MINIONS, Site
from tools.predictions.verdict import Difference, Outcome, Verdict, compare, verdict

SETTLE_SECONDS = 0.4
"""That nothing new may begin before a merge counts as done."""
FOUND_SECONDS = 3.0
"""The same where a check has found what none before it has: that will be applied."""
RUNS = 100
"""That are looked at: more than come of an edit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Journey:
    """What came of one edit."""

    number: int
    edit: str
    verdict: Verdict
    differences: list[Difference]
    prediction: Prediction
    outcome: Outcome


@dataclass(slots=True)
class Journeys:
    """Edits, one after the other, on one rig."""

    rig: Rig
    number: int = 0
    paths: set[str] = field(default_factory=set)
    """Of the tree as it was written last."""
    failed: bool = False
    """Whether states of the newest merge failed somewhere."""
    away: set[str] = field(default_factory=set)
    """Minions that are not running."""
    paused: set[str] = field(default_factory=set)
    found: dict[str, frozenset[str]] = field(default_factory=dict)
    """Id of a check -> states that it found to have something to do."""

    @classmethod
    def begin(cls, folder: Path, site: Site) -> Journeys:
        """A rig on which this site is applied."""
        write(site, folder / "first")
        made = MachineRig if site.machine else Rig
        # What a preview does not run it does not foretell: nothing would be compared where an SLS is a program.
        journeys = cls(made(folder / "rig", MINIONS, folder / "first", {"preview_py_renderer": True}))
        journeys.paths = set(site.tree())
        return journeys

    def up(self, site: Site) -> Site:
        """Start the rig and apply the first tree, without the states that fail; what is left."""
        self.rig.up()
        self.rig.push("First")
        self._settle()
        while self.failed:
            what, site = self.mended(site)
            self._commit(what, site)
            self.merge(())
        return site

    def mended(self, site: Site) -> tuple[str, Site]:
        """The site without the states that failed in the newest runs, and what is done to it in words."""
        site, failing = copy.deepcopy(site), sorted(self._failing())
        for block in failing:
            site.remove(block)
        site.broken, site.policy = {}, []
        return f"mend: without {', '.join(failing)}", site

    def _failing(self) -> set[str]:
        """Ids of the states that failed in the newest runs."""
        newest = {
            run["minion"]: run["run_id"] for run in reversed(self.rig.history(limit=RUNS)) if run["kind"] == "apply"
        }
        results = [self.rig.ask("/run", id=run_id)["states"] for run_id in newest.values()]
        return {
            state["__id__"].removeprefix("listener_")
            for states in results
            for state in states.values()
            if state["result"] is False
        }

    def make(self, edit: str, site: Site, beside: Site | None = None) -> Journey:
        """Preview the edit, merge it, and compare.

        Args:
            edit: what it is, in words.
            site: what comes of it.
            beside: what others have merged since the branch of the edit began.
        """
        self.number += 1
        branch = f"edit-{self.number}"
        base = self.rig.git("rev-parse", "HEAD")
        if beside is not None:
            self._branched(edit, site, branch, beside)
            prediction, traces = self._predicted("main", branch, merge=True)
            self.rig.git("merge", "-q", "--no-edit", branch)
        else:
            self._commit(edit, site)
            self.rig.push_head(branch)
            prediction, traces = self._predicted(base, branch, merge=False)
        outcome = self.merge(traces)
        differences = compare(prediction, outcome)
        return Journey(
            number=self.number,
            edit=edit,
            verdict=verdict(differences),
            differences=differences,
            prediction=prediction,
            outcome=outcome,
        )

    def _branched(self, edit: str, site: Site, branch: str, beside: Site) -> None:
        """The edit on a branch, and main with what others have merged, which is applied."""
        self._commit(edit, site)
        self.rig.push_head(branch)
        self.rig.git("branch", branch)
        self.rig.git("reset", "-q", "--hard", "HEAD~1")
        self._commit("beside", beside)
        self.merge(())

    def _predicted(self, base: str, branch: str, *, merge: bool) -> tuple[Prediction, tuple[str, ...]]:
        """What a preview says, and what it leaves on minions."""
        before = {minion: self._everything(minion) for minion in MINIONS}
        prediction = predict(self.rig.config, base, branch, merge=merge)
        traces = tuple(
            f"{line} on {minion}"
            for minion, one in before.items()
            for line in changed_paths(one, self._everything(minion))
        )
        return prediction, traces

    def _everything(self, minion: str) -> dict[str, tuple[object, ...]]:
        """All that a minion may change: what it manages, its own /etc, and the folders of its agent."""
        folders = [self.rig.root(minion), *([self.rig.etc(minion)] if isinstance(self.rig, MachineRig) else [])]
        found = {f"{folder.name}/{path}": entry for folder in folders for path, entry in snapshot(folder).items()}
        agent = self.rig.directory / minion / "agent"
        runs = agent / "var/cache/saltern/minion/runs"
        if minion not in self.away:
            self.rig.wait(f"the runs of {minion} to be reported", lambda: not any(runs.iterdir()))
        own = {f"agent/{path}": entry for path, entry in snapshot(agent).items()}
        # Each run comes and goes in a folder, and takes the lock of runs: the times of these tell nothing.
        return found | {
            path: entry[:3] if stat.S_ISDIR(int(str(entry[0]))) or path.endswith("run.lock") else entry
            for path, entry in own.items()
        }

    def by_hand(self, minion: str, draw: random.Random) -> str:
        """Change something that is managed; what."""
        files = sorted(path for path in self.rig.root(minion).rglob("*") if path.is_file() and not path.is_symlink())
        if not files:
            return ""
        path = draw.choice(files)
        match draw.randrange(7):
            case 0:
                path.unlink()
            case 1:
                path.chmod(0o600)
            case 2:
                path.with_name(f"{path.name}-by-hand").write_text("new\n")
            case 3:
                path.unlink()
                path.symlink_to("nowhere")
            case 4 if path.parent != self.rig.root(minion):
                shutil.rmtree(path.parent)
            case 5 if isinstance(self.rig, MachineRig):
                path = draw.choice(sorted(self.rig.etc(minion).glob("predicted-*")) or [self.rig.etc(minion) / "hosts"])
                path.write_text("127.0.0.1 localhost\n") if path.name == "hosts" else path.unlink()
            case _:
                path.write_text("changed by hand\n")
        return f"by hand {path.name} on {minion}"

    def restart(self, name: str) -> str:
        """End the controller or an agent, and start it."""
        self.rig.stop(name)
        if name == "controller":
            self.rig.start_controller()
        else:
            self.rig.wait(f"{name} to be gone", lambda: not self.rig.status()[name]["connected"])
            self.rig.start_minion(name)
        here = MINIONS.keys() - self.away
        self.rig.wait("all to be back", lambda: all(self.rig.status()[each]["connected"] for each in here))
        self._settle()  # an agent that begins tells its grains, and what comes of that is no trace of a preview
        return f"{name} is restarted"

    def pause(self, minion: str) -> str:
        """Pause a minion."""
        self._tell("/pause", minion)
        self.paused.add(minion)
        return f"{minion} is paused"

    def _tell(self, path: str, minion: str) -> None:
        question = TargetQuestion(target=TargetExpression(kind="glob", expression=minion))
        with Client(self.rig.config) as client:
            client.post(path, question, tuple[str, ...])

    def stop(self, minion: str) -> str:
        """End an agent."""
        self.rig.stop(minion)
        self.rig.wait(f"{minion} to be gone", lambda: not self.rig.status()[minion]["connected"])
        self.away.add(minion)
        return f"{minion} is away"

    def all_back(self) -> None:
        """Start, resume and sync everybody, and wait for what comes of it."""
        for minion in self.away:
            self.rig.start_minion(minion)
        if self.away:
            self.rig.wait("all to be back", lambda: all(each["connected"] for each in self.rig.status().values()))
        for minion in self.paused:
            self._tell("/resume", minion)
        self.away.clear()
        self.paused.clear()
        if "manual" in (self.rig.work / "states/saltern.yaml").read_text():
            self.rig.saltern("sync", "*", check=False)
        self._settle()

    def _commit(self, message: str, site: Site) -> None:
        tree = site.tree()
        for path in self.paths - tree.keys():
            (self.rig.work / path).unlink()
        for path, text in tree.items():
            file = self.rig.work / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text if isinstance(text, bytes) else text.encode())
        self.paths = set(tree)
        self.rig.git("add", "-A")
        self.rig.git("commit", "-q", "--allow-empty", "-m", message)

    def merge(self, traces: tuple[str, ...]) -> Outcome:
        """Push to main, and wait until nothing more comes of it."""
        known = {run["run_id"] for run in self.rig.history(limit=RUNS)}
        waited = frozenset(minion for minion, each in self.rig.status().items() if _waits(each))
        self.rig.push_head()
        refused = self._settle()
        runs: dict[str, list[Mapping[str, Any]]] = {minion: [] for minion in MINIONS}
        for run in reversed(self.rig.history(limit=RUNS)):
            if run["run_id"] not in known and run["kind"] in ("apply", "remediate") and not run["test"]:
                runs[run["minion"]].append(run)
        status = self.rig.status()
        return Outcome(
            states={
                minion: self.rig.ask("/run", id=some[0]["run_id"])["states"] for minion, some in runs.items() if some
            },
            broken=frozenset(minion for minion, each in status.items() if each["errors"]),
            waiting={minion: why for minion, each in status.items() if (why := _waits(each))},
            more_runs={
                minion: [self._told(run) for run in some[1:] if not _is_of_check(run)] for minion, some in runs.items()
            },
            missed={
                minion: frozenset(key for run in some[1:] if _is_of_check(run) for key in self._acted(run))
                for minion, some in runs.items()
            },
            waited=waited,
            refused=refused,
            traces=traces,
        )

    def _told(self, run: Mapping[str, Any]) -> str:
        """Why a run was made, and which states it changed."""
        return f"{run['cause']}: {', '.join(self._acted(run)) or 'nothing changed'}"

    def _acted(self, run: Mapping[str, Any]) -> list[str]:
        states = self.rig.ask("/run", id=run["run_id"])["states"]
        return [key for key, state in states.items() if state["changes"] or state["result"] is False]

    def _settle(self) -> str:
        """Wait until the newest commit is live and all that follows from it has ended; why it is refused, if it is."""
        head = self.rig.head()
        calm = 0.0

        def settled() -> str:
            nonlocal calm
            done = self._done(head)
            if not done:
                calm = 0.0
                return ""
            calm = calm or time.monotonic()
            return done if time.monotonic() - calm >= (FOUND_SECONDS if self._found() else SETTLE_SECONDS) else ""

        found = str(self.rig.wait(f"{head} to be applied", settled))
        return "" if found == "applied" else found

    def _found(self) -> bool:
        """Whether the newest run of a minion is a check that found something new: it is about to be applied."""
        checks: dict[str, list[str]] = {}
        over: set[str] = set()
        for run in self.rig.history(limit=RUNS):
            minion = run["minion"]
            if run["kind"] == "drift":
                checks.setdefault(minion, []).append(run["run_id"])
            elif minion not in checks:
                over.add(minion)
        return any(
            self._pending(found[0]) - (self._pending(found[1]) if len(found) > 1 else frozenset())
            for minion, found in checks.items()
            if minion not in over
        )

    def _pending(self, run_id: str) -> frozenset[str]:
        """The states that a check found to have something to do."""
        if run_id not in self.found:
            states = self.rig.ask("/run", id=run_id)["states"]
            self.found[run_id] = frozenset(key for key, state in states.items() if state["result"] is None)
        return self.found[run_id]

    def _done(self, head: str) -> str:
        if "aply" in (self.rig.work / "states/saltern.yaml").read_text():
            return next((str(each["error"]) for each in self.rig.remotes() if each["error"]), "")
        status = self.rig.status().values()
        if any(each["attempted_revision"] != head for each in status):
            return ""
        runs = self.rig.history(limit=RUNS)
        if any(run["state"] not in ("finished", "superseded") for run in runs):
            return ""
        self.failed = any(each["health"] == "Failed" for each in status)
        return "applied" if all(self._is_done(each, head, runs) for each in status) else ""

    def _is_done(self, status: Mapping[str, Any], head: str, runs: list[dict[str, Any]]) -> bool:
        if status["errors"] or _waits(status) or status["health"] == "Failed":
            return True
        if status["sync"] != "Synced" or status["applied_revision"] != head:
            return False
        mine = [run for run in runs if run["minion"] == status["minion"] and run["kind"] in ("apply", "drift")]
        return not mine or self._checked(mine[0])

    def _checked(self, newest: Mapping[str, Any]) -> bool:
        """Whether the whole highstate was looked at after the newest run."""
        if newest["kind"] == "drift" or "verify: none" in (self.rig.work / "states/saltern.yaml").read_text():
            return True
        return self.rig.ask("/run", id=newest["run_id"])["keys"] is None


def _is_of_check(run: Mapping[str, Any]) -> bool:
    """Whether the check after a push had it made."""
    return str(run["cause"]).startswith("missed by the plan")


def _waits(status: Mapping[str, Any]) -> str:
    """Why what is pending is not run."""
    if not status["connected"]:
        return "offline"
    if status["paused"]:
        return "paused"
    return "manual" if "sync" in status["message"] and status["sync"] == "OutOfSync" and not status["errors"] else ""


def write(site: Site, folder: Path) -> None:
    """Put the tree of a site into a folder."""
    for path, text in site.tree().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text if isinstance(text, bytes) else text.encode())


def snapshot(root: Path) -> dict[str, tuple[object, ...]]:
    """Everything below a folder: kind, owner, mode, times of the last change, which file it is, its size."""
    return dict(_entries(root))


def _entries(root: Path) -> Iterator[tuple[str, tuple[object, ...]]]:
    for folder, names, files in os.walk(root):
        for name in (*names, *files):
            path = Path(folder, name)
            found = path.lstat()
            # Whatever is written to a file gives it another time of change: contents need not be read.
            times = (found.st_mtime_ns, found.st_ctime_ns)
            yield (
                str(path.relative_to(root)),
                (found.st_mode, found.st_uid, found.st_gid, *times, found.st_ino, found.st_size),
            )


def changed_paths(before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    """Paths that are new, gone or other."""
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
