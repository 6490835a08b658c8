"""From push to live, what branches cost that did not move, reading files, and how fast many minions get theirs."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import git_servers
import httpx
from rig import Rig

from gitfs.config.settings import RemoteSettings
from gitfs.source import Source
from tools.bench import file_serving
from tools.bench.figures import Figure

TREE = Path(__file__).resolve().parents[2] / "examples" / "quickstart"
PUSHES = 20
FILES = 500
READ_FILES = 10_000
SALT_UPDATE_MS = {1: 31.4, 100: 56.7}
"""Salt 3008.3's update in process after a push of one file, recorded on a machine of this kind."""
SALT_VISIBLE = 0.57
"""Seconds from push to visible in Salt at its shortest interval, recorded on a machine of this kind."""


def measure() -> Iterator[Figure]:
    """All figures of gitfs."""
    yield from _pushes()
    yield from _branches()
    yield from _reads()
    yield from file_serving.measure()


def _pushes() -> Iterator[Figure]:
    """From the return of `git push` to the event that its revision is live."""
    for how in ("watched on this machine", "http remote with a hook"):
        with tempfile.TemporaryDirectory(prefix="saltern-bench-") as folder:
            samples = _watched(Path(folder)) if how.startswith("watched") else _hooked(Path(folder))
        limit = {"reference": SALT_VISIBLE, "reference_of": "Salt, interval 1 s", "unit": "s"}
        yield Figure(metric=f"git push to live, {how}", samples=samples, target=0.05, **limit)


def _watched(folder: Path) -> list[float]:
    with Rig(folder, {}, TREE) as rig:
        rig.make_remote()
        rig.start_controller()
        return _times_to_live(rig, lambda: None)


def _hooked(folder: Path) -> list[float]:
    """The remote is fetched over http; polls and watches see nothing, the hook alone tells."""
    with git_servers.serving(folder, handler=_Open) as port:
        url = f"http://127.0.0.1:{port}/remote.git"
        remotes = [{url: [{"name": "states"}, {"root": "states"}, {"base": "main"}, {"update_interval": 3600}]}]
        pillars = [{"git": [{f"main {url}": [{"root": "pillar"}, {"env": "base"}, {"update_interval": 3600}]}]}]
        with Rig(folder, {}, TREE, {"gitfs_remotes": remotes, "ext_pillar": pillars}) as rig:
            rig.make_remote()
            rig.start_controller()
            body = json.dumps({"repository": {"clone_url": url}}).encode()
            with httpx.Client(base_url=rig.http, trust_env=False, verify=False) as forge:  # noqa: S501 - plain http
                return _times_to_live(rig, lambda: forge.post("/hook", content=body).raise_for_status())


def _times_to_live(rig: Rig, tell: Any) -> list[float]:
    client = httpx.Client(
        transport=httpx.HTTPTransport(uds=str(rig.socket)), base_url="http://controller/api/v1", timeout=60
    )
    samples = []
    with client, client.stream("GET", "/events") as stream:
        events = (json.loads(line) for line in stream.iter_lines() if line)
        for number in range(PUSHES + 1):
            (rig.work / "states" / "counter.txt").write_text(str(number))
            rig.git("add", "-A")
            rig.git("commit", "-q", "-m", f"bench {number}")
            rig.push_head()
            pushed = time.time()
            tell()
            tag = f"saltern/revision/{rig.head()}/live"
            live = next(float(event["time"]) for event in events if event["tag"] == tag)
            samples.append(max(0.0, live - pushed))
            time.sleep(0.1)
    return samples[1:]  # the first one makes the mirror


def _branches() -> Iterator[Figure]:
    """A fetch and the new trees, after one branch of many moved: wall time, and what it costs of the processor."""
    costs = {}
    for count, packed in ((1, True), (100, True), (2000, True), (2000, False)):
        with tempfile.TemporaryDirectory(prefix="saltern-bench-") as folder:
            samples, cost = _updates(Path(folder), count, packed=packed)
        costs[count, packed] = statistics.median(cost)
        reference = SALT_UPDATE_MS.get(count)
        yield Figure(
            metric=f"update of {FILES} files, {count} branches" + ("" if packed else ", a file each"),
            unit="ms",
            samples=samples,
            reference=reference,
            reference_of="Salt" if reference else "",
        )
    for packed, how in ((True, "as git keeps what rests"), (False, "a file each")):
        ratio = costs[2000, packed] / costs[1, True]
        yield Figure(metric=f"processor time, 2000 : 1 branches, {how}", unit="x", samples=[ratio], target=2.0)


def _updates(folder: Path, branches: int, *, packed: bool) -> tuple[list[float], list[float]]:
    repository = _Repository(folder, {f"d{number % 50}/f{number}.sls": f"{number}\n" for number in range(FILES)})
    head = repository.git("rev-parse", "HEAD")
    lines = "".join(f"create refs/heads/branch{number} {head}\n" for number in range(branches - 1))
    repository.git("-C", str(repository.bare), "update-ref", "--stdin", given=lines)
    if packed:
        repository.git("-C", str(repository.bare), "pack-refs", "--all")
    samples, cost = [], []
    settings = RemoteSettings(name="states", url=str(repository.bare))
    with Source([settings], (), folder / "cache") as source:
        for number in range(PUSHES + 1):
            repository.commit({"top.sls": str(number)})
            began, busy = time.perf_counter(), time.process_time()
            source.fetch(patience=60)
            trees = source.live()
            samples.append((time.perf_counter() - began) * 1000)
            cost.append(time.process_time() - busy)
            if trees.files.read("top.sls") != str(number).encode():
                raise RuntimeError("the push was not seen")
    return samples[1:], cost[1:]


def _reads() -> Iterator[Figure]:
    """Every file of a tree, from the objects and from a folder."""
    files = {f"d{number % 100}/f{number}.sls": f"content of {number}\n" * 20 for number in range(READ_FILES)}
    with tempfile.TemporaryDirectory(prefix="saltern-bench-") as folder:
        repository = _Repository(Path(folder), files)
        repository.git("-C", str(repository.bare), "gc", "-q")
        with Source([RemoteSettings(name="states", url=str(repository.bare))], (), Path(folder, "cache")) as source:
            source.fetch(patience=60)
            snapshot = source.live().files
            paths = snapshot.list()
            plain = [_timed(lambda: [repository.work.joinpath(path).read_bytes() for path in paths]) for _ in range(7)]
            ours = [_timed(lambda: [snapshot.read(path) for path in paths]) for _ in range(7)]
    reference = sorted(plain)[len(plain) // 2]
    yield Figure(
        metric=f"reading {READ_FILES} files of a snapshot",
        unit="ms",
        samples=ours,
        reference=reference,
        reference_of="from a folder",
        target=round(reference, 1),
    )


def _timed(act: Any) -> float:
    began = time.perf_counter()
    act()
    return (time.perf_counter() - began) * 1000


class _Repository:
    """A bare repository and a work tree that pushes to it."""

    def __init__(self, folder: Path, files: Mapping[str, str]) -> None:
        self.bare, self.work = folder / "remote.git", folder / "work"
        who = {
            f"GIT_{role}_{what}": "bench@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }
        self._environment = {**os.environ, **who, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        self.work.mkdir(parents=True)
        self.git("init", "-q", "--bare", "-b", "main", str(self.bare))
        self.git("init", "-q", "-b", "main")
        self.commit(files)

    def git(self, *arguments: str, given: str = "") -> str:
        """Run git in the work tree; its output."""
        command: Sequence[str] = ["git", *arguments]
        done = subprocess.run(
            command, cwd=self.work, env=self._environment, input=given, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def commit(self, files: Mapping[str, str]) -> None:
        """Commit and push."""
        for name, content in files.items():
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "bench")
        self.git("push", "-q", str(self.bare), "main")


class _Open(git_servers.Backend):
    """git's own http-backend, for everybody."""

    disable_nagle_algorithm = True  # or each answer waits 40 ms for an acknowledgement

    def is_let_in(self) -> bool:
        """Yes."""
        return True


if __name__ == "__main__":
    sys.exit("run `make bench ONLY=gitfs`")
