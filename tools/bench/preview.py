"""Previews of pull requests: how long until the comment, what the controller takes, and live pushes meanwhile.

Everything is real but the forge, a fake on this machine: git, webhooks, the controller, and `probe`, the one minion
that is connected. The others of the fleet are accepted keys with grains, so that compiling and comparing (layer 1) is
measured, without test runs. `MINIONS=N` is another number of them. Pull requests are pushed before the clock starts: it
runs from the event of the forge to the comment.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import psutil
import zmq
from forges.github import FakeGitHub
from forges.model import Pull
from rig import Rig

from controller.store import Store
from tools.bench import gentree
from tools.bench.figures import Figure

ROLES = 20
STATES = 500
FLEETS = tuple(int(number) for number in os.environ.get("MINIONS", "1000,10000").split(","))
SYSTEMS = (("Debian", "Debian"), ("Ubuntu", "Debian"), ("Rocky", "RedHat"), ("openSUSE", "Suse"))
ROLE_SECONDS = {1000: 1.5, 10000: 4.0}
ALL_SECONDS = {1000: 8.0}
AGAIN_SECONDS = 0.5
DELAYED = 1.5
"""Times that a live push may take longer while previews are made."""
QUEUED = 20
PATIENCE = 1800.0
"""Seconds until the fleet has its first documents, or a comment is there; then the benchmark ends with an error."""
PROJECT = "org/states"
PROBE = "probe"


_MOTD = "/etc/motd:\n  file.managed:\n    - source: salt://motd.j2\n    - template: jinja\n"
_MOTD_TEXT = "first of the lines of {{ grains['id'] }}\n{% for n in range(20) %}line {{ n }}\n{% endfor %}"


def measure() -> Iterator[Figure]:
    """All figures of previews."""
    for minions in FLEETS:
        yield from _fleet(minions)


def _fleet(minions: int) -> Iterator[Figure]:
    with (
        tempfile.TemporaryDirectory(prefix="saltern-bench-") as folder,
        FakeGitHub() as forge,
        _PreviewRig(Path(folder), minions, forge) as rig,
    ):
        rig.begin()
        what = f"{minions} minions"
        with _Memory(rig) as memory:
            pulls = [rig.edit_role(number) for number in range(5)]
            role = [rig.previewed(pull, minions // ROLES) for pull in pulls]
            yield Figure(
                metric=f"{what}, one SLS of one role", unit="s", samples=role, target=ROLE_SECONDS.get(minions)
            )
            again = [rig.pushed_again(pull) for pull in pulls]
            yield Figure(metric=f"{what}, second push to each", unit="s", samples=again, target=AGAIN_SECONDS)
            if minions in ALL_SECONDS or minions not in ROLE_SECONDS:
                every = [rig.previewed(rig.edit_all(number), minions) for number in range(3)]
                target = ALL_SECONDS.get(minions)
                yield Figure(metric=f"{what}, one SLS of each role", unit="s", samples=every, target=target)
                files = [rig.previewed(rig.edit_template(number), minions) for number in range(3)]
                yield Figure(metric=f"{what}, a template of a file of all", unit="s", samples=files)
        yield Figure(
            metric=f"{what}, growth of the controller", unit="MiB", samples=[memory.most - memory.before], target=300.0
        )
        alone = [rig.applied() for _ in range(7)]
        queued = rig.applied_during_previews()
        reference = median(alone)
        yield Figure(
            metric=f"{what}, a live push during {QUEUED} queued previews",
            unit="s",
            samples=queued,
            reference=reference,
            reference_of="the same without previews",
            target=DELAYED * reference,
        )


class _Memory:
    """How much the controller and its processes take, looked at all the time."""

    def __init__(self, rig: _PreviewRig) -> None:
        self._rig = rig
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self.before = self.most = rig.memory()

    def __enter__(self) -> _Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(0.5):
            self.most = max(self.most, self._rig.memory())


class _PreviewRig(Rig):
    """A controller with a fleet that is known to it and away, a forge, and one minion that is there."""

    def __init__(self, folder: Path, minions: int, forge: FakeGitHub) -> None:
        self._members = {gentree.minion_id(number): _grains(number) for number in range(minions)}
        self._forge = forge
        self._version = 0
        forge.model.project(PROJECT, alice="write")
        tree = folder / "tree"
        files, pillar = gentree.fleet(ROLES, STATES, minions)
        top = f"{files['top.sls']}  'minion-*':\n    - motd\n  {PROBE}:\n    - {PROBE}\n"
        files = {**files, "top.sls": top, f"{PROBE}.sls": _version(0), "motd.sls": _MOTD, "motd.j2": _MOTD_TEXT}
        pillar = {**pillar, f"hosts/{PROBE}.sls": "{}\n"}
        pillar |= {f"{PROBE}/data_{number}.sls": "{}\n" for number in range(gentree.PILLARS)}
        gentree.write(files, tree / "states")
        gentree.write(pillar, tree / "pillar")
        entry = {
            "name": "hub",
            "kind": "github",
            "api": forge.api,
            "token": forge.token,
            "projects": {"states": PROJECT},
            "poll_interval": 3600,
        }
        more = {"gitfs_saltenv_whitelist": ["base"], "hook_secret": "hook-secret", "forges": [entry]}
        super().__init__(folder, {PROBE: {"role": PROBE}}, tree, more)

    def begin(self) -> None:
        """Push the tree, and wait until everyone has a document of it."""
        self.make_remote()
        self.push("the fleet")
        url = f"sqlite:///{self.directory / 'c/var/lib/saltern/controller.sqlite'}"
        (self.directory / "c/var/lib/saltern").mkdir(parents=True)
        with Store(url) as store, store.transaction():
            for minion, grains in self._members.items():
                public = zmq.curve_keypair()[0].decode()
                store.keys.request(public, minion, time.time())
                store.keys.set_state(minion, "accepted", time.time())
                store.minions.seen(minion, time.time(), grains=grains)
        self.start_controller()
        self.configure_minions()
        self.start_minion(PROBE)
        self.accept_all()
        self.wait("every minion to be compiled", self._is_compiled, patience=PATIENCE)
        self.wait_probe(self.head())
        self._forge.hook = self.http + "/hook"

    def _is_compiled(self) -> bool:
        time.sleep(1)
        return all(each["attempted_revision"] for each in self.status().values())

    def wait_probe(self, commit: str) -> None:
        """Wait until the minion that is there has applied a commit."""

        def applied() -> bool:
            [probe] = self.ask("/status", kind="glob", expression=PROBE)["minions"]
            return bool(probe["applied_revision"] == commit)

        self.wait(f"the probe to apply {commit}", applied, patience=PATIENCE)

    def applied(self) -> float:
        """Seconds from a push of what the probe has to its being applied."""
        self._version += 1
        self.git("checkout", "-q", "main")
        file = f"states/{PROBE}.sls"
        (self.work / file).write_text(_version(self._version))
        self.git("commit", "-q", "-a", "-m", f"version {self._version}")
        began = time.perf_counter()
        self.push_head()
        self.wait_probe(self.head())
        return time.perf_counter() - began

    def applied_during_previews(self) -> list[float]:
        """The same, as long as previews are made."""
        edited = [self.edit_role(number % ROLES, f"queued-{number}") for number in range(QUEUED)]
        pulls = [self._opened(branch, head) for branch, head in edited]
        found: list[float] = []
        while not all(map(self._is_told, pulls)):
            found.append(self.applied())
        return found

    def edit_role(self, number: int, branch: str = "") -> tuple[str, str]:
        """A branch in which one SLS of one role is another, and its commit."""
        role = gentree.role_of(number, ROLES)
        return self._edit(branch or f"role-{number}", [f"states/{role}/{role}_17.sls"])

    def edit_all(self, number: int) -> tuple[str, str]:
        """A branch in which an SLS of every role is another, and its commit."""
        roles = [gentree.role_of(each, ROLES) for each in range(ROLES)]
        return self._edit(f"all-{number}", [f"states/{role}/{role}_{11 + number}.sls" for role in roles])

    def edit_template(self, number: int) -> tuple[str, str]:
        """A branch in which the template of a file is another that every minion has, with its own id in it."""
        return self._edit(f"template-{number}", ["states/motd.j2"])

    def _edit(self, branch: str, paths: list[str], base: str = "main") -> tuple[str, str]:
        self.git("checkout", "-q", "-B", branch, base)
        self.push(branch, dict.fromkeys(paths, ("first of", "edited first of")), branch=branch)
        return branch, self.git("rev-parse", "HEAD")

    def previewed(self, edited: tuple[str, str], changed: int) -> float:
        """Seconds from the forge's event to the comment about a new pull request that changes so many minions."""
        began = time.perf_counter()
        pull = self._opened(*edited)
        self._wait_told(pull)
        seconds = time.perf_counter() - began
        [found] = [each["changed"] for each in self.ask("/pulls") if each["number"] == pull.number]
        if found != changed:
            raise RuntimeError(f"{found} minions changed, and {changed} were to change")
        return seconds

    def pushed_again(self, edited: tuple[str, str]) -> float:
        """Seconds from the event of a second push to a pull request to the comment about it."""
        branch, _ = edited
        [pull] = [each for each in self._forge.model.projects[PROJECT].pulls.values() if each.head_branch == branch]
        role = gentree.role_of(int(branch.removeprefix("role-")), ROLES)
        _, head = self._edit(branch, [f"states/{role}/{role}_18.sls"], branch)
        began = time.perf_counter()
        self._forge.model.push(pull, head)
        self._wait_told(pull)
        return time.perf_counter() - began

    def _opened(self, branch: str, head: str) -> Pull:
        return self._forge.model.open(PROJECT, head=head, branch=branch)

    def _wait_told(self, pull: Pull) -> None:
        self.wait(f"the comment on {pull.head_branch}", lambda: self._is_told(pull), patience=PATIENCE)

    def _is_told(self, pull: Pull) -> bool:
        """Whether the comment has the report of the head of now."""
        robot = self._forge.model.robot
        return any(f"→ `{pull.head[:8]}`" in each.body for each in pull.visible() if each.author == robot)

    def memory(self) -> float:
        """MiB of the controller and its processes."""
        total = 0
        for process in (psutil.Process(self.pid("controller")), *psutil.Process(self.pid("controller")).children(True)):
            with contextlib.suppress(psutil.Error):
                total += process.memory_full_info().pss
        return total / 2**20


def _version(number: int) -> str:
    return f"version:\n  test.nop:\n    - name: version {number}\n"


def _grains(number: int) -> dict[str, str]:
    system, family = SYSTEMS[number // ROLES % len(SYSTEMS)]
    own = gentree.minion_id(number)
    return {"id": own, "os": system, "os_family": family, "role": gentree.role_of(number, ROLES)}
