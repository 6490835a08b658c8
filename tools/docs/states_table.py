"""docs/states.md: what holds for each state function on this machine, found by running it. As root, on Debian.

    python -m tools.docs.states_table            write the page
    python -m tools.docs.states_table FUN ...    show what is found for these; where all holds, write their rows

Each case is run in four steps: under test=True, for real, and both again. Before and after the first step a fingerprint
of the system is taken: inode, owner, mode, size and times of all that is in /etc, of the databases of packages, of
crontabs and of the case's folder; what is mounted, kernel parameters of the cases, processes of its service.
"""

from __future__ import annotations

import functools
import http.server
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk, StateResult
from minion.config.group_rules import options_of
from minion.engine.registry import find, names
from minion.engine.unsupported import UNSUPPORTED
from minion.execution import Context
from minion.execution.state_engine import engine_of
from minion.grains import collect
from tools.docs.cases.case import APT, SERVICE, Case, with_top
from tools.docs.state_cases import CASES, WITHOUT

_RIG = Path(__file__).resolve().parents[2] / "tests/rig"
"""Servers of the tests."""
PAGE = Path(__file__).resolve().parents[2] / "docs/states.md"
WATCHED = (
    "/etc", "/var/lib/dpkg", "/var/lib/apt/extended_states", "/var/spool/cron", "/var/cache/debconf",
    "/var/lib/alternatives", "/home", "/usr/local", "/srv", "/run/" + SERVICE + ".pid",
    "/root/.ssh", "/root/.config", "/root/.gitconfig",
)  # fmt: skip
_LOCKS = ("lock", "lock-frontend", ".pwd.lock", "triggers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What was found of one state function."""

    fun: str
    converges: str
    """yes, no, or why the question does not arise."""
    predicted: str
    untouched: str
    said: str = ""
    """What went wrong."""
    results: Mapping[str, StateResult] = field(default_factory=dict, repr=False)
    """`test`, `run` and `again`."""
    top: str = field(default="", repr=False)
    """The folder that the case had."""

    @property
    def holds(self) -> bool:
        """Whether all three hold, as far as they arise."""
        return "no" not in (self.converges, self.predicted, self.untouched)


def judge(case: Case) -> Row:
    """Run the case; leaves the machine as it was.

    Somebody else may write to the machine meanwhile; what a test run does itself, it does each time.
    """
    row = _judged(case)
    for _ in range(3):
        if row.untouched == "no" or "locked by another process" in row.said:
            row = _judged(case)
    return row


def _judged(case: Case) -> Row:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="saltern-case-")))
        url = stack.enter_context(served()) if "{url}" in f"{case.name} {case.arguments}" else ""
        case = placed(case, {"{top}": str(folder / "top"), "{url}": url, **values()})
        stack.enter_context(run_hooks(case, folder / "top"))
        kept = dict(case.grains)
        before = fingerprint(folder)
        predicted = _once(case, folder, kept, test=True)
        untouched = fingerprint(folder)
        done = _once(case, folder, kept, test=False)
        again = _once(case, folder, kept, test=False)
        tested = _once(case, folder, kept, test=True)
    wrong = [] if (done.result is False) == case.fails else [f"result {done.result}: {done.comment}"]
    wrong += [f"test=True changed {path}" for path in sorted(_differing(before, untouched))]
    # What an act that comes each time will say (a number of a process, an output) nobody can predict.
    more = sorted(set(done.changes) - set(predicted.changes))
    right = all(done.changes.get(key) == one for key, one in predicted.changes.items())
    right = case.acts_always or (right and bool(predicted.changes) >= bool(done.changes))
    wrong += [] if right else [f"predicted {dict(predicted.changes)}, done {dict(done.changes)}"]
    empty = case.fails or (not again.changes and not tested.changes and again.result is tested.result is True)
    wrong += [] if empty or case.acts_always else [f"again: {again.comment} {dict(again.changes)}"]
    return Row(
        fun=case.fun,
        converges="acts each time" if case.acts_always else _word(empty),
        predicted=_prediction(case, right, more),
        untouched=_word(before == untouched),
        said="; ".join(wrong),
        results={"test": predicted, "run": done, "again": again},
        top=str(folder / "top"),
    )


def _prediction(case: Case, right: bool, more: Sequence[str]) -> str:
    if case.acts_always and more:
        return "as it comes"
    return f"yes; {', '.join(more)} as the system chooses" if right and more else _word(right)


def fingerprint(*more: Path) -> dict[str, Any]:
    """What the system is like: path → what the system says of it."""
    found: dict[str, Any] = {"mounts": Path("/proc/self/mountinfo").read_text()}
    for top in (*WATCHED, *(str(path / "top") for path in more)):
        if os.path.isdir(top):  # noqa: PTH112
            for path, folders, files in os.walk(top):
                for name in (*folders, *files, "."):
                    if name not in _LOCKS:
                        _look(f"{path}/{name}", found)
        else:
            _look(top, found)
    return found


def _look(path: str, found: dict[str, Any]) -> None:
    try:
        seen = os.lstat(path)
    except FileNotFoundError:
        return
    found[path] = (
        seen.st_ino,
        seen.st_mode,
        seen.st_uid,
        seen.st_gid,
        seen.st_size,
        seen.st_mtime_ns,
        seen.st_ctime_ns,
    )


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> set[str]:
    return {key for key in {*one, *other} if one.get(key) != other.get(key)}


def placed(case: Case, values: Mapping[str, str]) -> Case:
    """The case with what its braces stand for."""
    kinds = ("name", "arguments", "files", "tree", "before", "after", "environment", "opts")
    whole = {key: getattr(case, key) for key in kinds}
    for key, value in whole.items():
        for old, new in values.items():
            value = with_top(list(value) if isinstance(value, tuple) else value, old, new)
        whole[key] = value
    return replace(case, **whole)


def values() -> dict[str, str]:
    """What braces stand for that are the same in all cases."""
    found = (path.name for path in Path("/usr/lib/postgresql").glob("*") if path.name.isdigit())
    newest = max(found, key=int, default="")
    return {"{hostname}": os.uname().nodename, "{postgresql}": newest, "{python}": sys.executable, "{rig}": str(_RIG)}


@contextmanager
def run_hooks(case: Case, top: Path) -> Iterator[None]:
    """What the case needs on the machine; the machine is as before afterwards."""
    top.mkdir()
    top.parent.chmod(0o755)
    for name, text in case.files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            path.mkdir(exist_ok=True)
        else:
            path.write_text(text)
    with _restored(case.restores, top.parent), _within(case.environment):
        try:
            for command in case.before:
                _shell(command, check=True)
            yield
        finally:
            for command in case.after:
                _shell(command, check=False)


@contextmanager
def _within(environment: Mapping[str, str]) -> Iterator[None]:
    kept = dict(os.environ)
    os.environ.update(environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(kept)


@contextmanager
def _restored(paths: Sequence[str], folder: Path) -> Iterator[None]:
    kept = {}
    for number, path in enumerate(paths):
        if os.path.lexists(path):
            kept[path] = folder / f"kept{number}"
            shutil.copy2(path, kept[path], follow_symlinks=False)
    try:
        yield
    finally:
        for path in paths:
            Path(path).unlink(missing_ok=True)
            if path in kept:
                shutil.copy2(kept[path], path, follow_symlinks=False)


def _shell(command: str, *, check: bool) -> None:
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for _ in range(60):
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=quiet, check=False)
        if "locked by another process" not in done.stderr:
            break
        time.sleep(5)
    if check and done.returncode != 0:
        raise RuntimeError(f"{command}: {done.stderr.strip() or done.stdout.strip()}")


@contextmanager
def served() -> Iterator[str]:
    """The URL of a server that answers everything with `fine`."""

    class Always(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"fine")

        def log_message(self, *_: Any) -> None:
            """Nobody reads it."""

    server = http.server.HTTPServer(("127.0.0.1", 0), Always)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


def _once(case: Case, folder: Path, grains: dict[str, Any], *, test: bool) -> StateResult:
    (folder / "cache").mkdir(exist_ok=True)
    every = {**_grains(), "id": "case", **grains}
    context = Context(
        minion_id="case",
        opts={"id": "case", "config_dir": str(folder), "conf_file": str(folder / "minion"), **case.opts},
        options=options_of(case.opts),
        make_grains=lambda: every,
        make_pillar=lambda: case.pillar,
        make_files=lambda: MemoryFiles({"base": {path: text.encode() for path, text in case.tree.items()}}),
        backup_dir=str(folder / "cache/file_backup"),
        cachedir=str(folder / "cache"),
        config_dir=str(folder / "etc"),
        fire=lambda tag, data: "",
    )
    state, _, fun = case.fun.partition(".")
    chunk = Chunk(state=state, fun=fun, id="x", name=case.name, sls="case", arguments=dict(case.arguments))
    machine = context.machine
    result = run({"k": chunk}, engine_of(context, machine, test=test), test=test, clock=time.time)["k"]
    if not test:  # the next run sees the grains that this one has set
        grains.clear()
        grains.update(
            {key: value for key, value in machine.grains.items() if key != "id" and _grains().get(key) != value}
        )
    return result


@functools.cache
def _grains() -> dict[str, Any]:
    return collect()


@contextmanager
def installed(packages: Sequence[str]) -> Iterator[None]:
    """With these Debian packages; those that were not there go again."""
    missing = [
        one for one in packages if subprocess.run(["dpkg", "-s", one], capture_output=True, check=False).returncode != 0
    ]
    if missing:
        _shell(f"{APT} update; {APT} --no-install-recommends install {' '.join(missing)}", check=True)
    try:
        yield
    finally:
        if missing:
            _shell(f"{APT} purge {' '.join(missing)}", check=False)


def page(rows: Sequence[Row], kept: Mapping[str, str]) -> str:
    """docs/states.md. `kept`: function -> the cells of its row, where it was not run."""
    found = merged(rows)
    cells = {fun: f"{row.converges} | {row.predicted} | {row.untouched}" for fun, row in found.items()}
    cells = {**{fun: f"{why} |  | " for fun, why in WITHOUT.items()}, **kept, **cells}
    table = "\n".join(f"| `{fun}` | {cells[fun]} |" for fun in names() if fun in cells)
    return _PAGE.format(table=table) + arguments_part()


def rows_of(text: str) -> dict[str, str]:
    """Function -> the cells of its row on the page."""
    return dict(re.findall(r"^\| `([a-z0-9_]+\.[a-z_]+)` \| (.*) \|$", text.partition("\n## ")[0], re.M))


def arguments_part() -> str:
    """The end of the page, which is read from signatures alone."""
    specs = {fun: find(*fun.split(".", 1), "").spec for fun in names()}
    refused = [
        f"| `{fun}` | `{one}` | {instead} |" for fun, spec in specs.items() for one, instead in spec.refused.items()
    ]
    ignored = [f"| `{fun}` | `{one}` | {why} |" for fun, spec in specs.items() for one, why in spec.ignored.items()]
    unsupported = [f"| `{fun}` | {instead} |" for fun, instead in sorted(UNSUPPORTED.items())]
    return _ARGUMENTS.format(ignored="\n".join(ignored), refused="\n".join(refused), unsupported="\n".join(unsupported))


def merged(rows: Sequence[Row]) -> dict[str, Row]:
    """One row a function: what holds, holds in all of its cases."""
    found: dict[str, Row] = {}
    for row in rows:
        old = found.get(row.fun, row)
        found[row.fun] = Row(
            fun=row.fun,
            converges=_both(old.converges, row.converges),
            predicted=_both(old.predicted, row.predicted),
            untouched=_both(old.untouched, row.untouched),
            said="; ".join(filter(None, (old.said, row.said))),
        )
    return found


def _both(one: str, other: str) -> str:
    if "no" in (one, other):
        return "no"
    return max(one, other, key=len)


_PAGE = """# States

Names, arguments, comments and `changes` are Salt's; what differs on purpose is in
[salt-compatibility.md](salt-compatibility.md). This page is written by `tools/docs/states_table.py`, which runs each
function on a Debian system as root; `make e2e` runs the same and fails where one of the three does not hold.

A function may have several cases; what holds, holds in all of them.

- **converges**: after it acted, there is nothing left to do, for real and under test=True.
- **as predicted**: the `changes` of the test run are those of the real one.
- **test changes nothing**: test=True leaves inode, owner, mode, size and times as they were of everything in `/etc`, of
  the databases of packages, crontabs, homes and of the files that the state is about.

| function | converges | as predicted | test changes nothing |
|---|---|---|---|
{table}

"""

_ARGUMENTS = """## Arguments of Salt's that are refused

| function | argument | instead |
|---|---|---|
{refused}

## Arguments of Salt's that mean nothing here

They are accepted without a warning.

| function | argument | why |
|---|---|---|
{ignored}

## Functions of these modules that are not there

| function | instead |
|---|---|
{unsupported}
"""


def _word(holds: bool) -> str:
    return "yes" if holds else "no"


def main(wanted: Sequence[str]) -> int:
    """Write the page, or show and write some rows; `--arguments` writes what follows the rows and runs nothing."""
    if list(wanted) == ["--arguments"]:
        PAGE.write_text(page([], rows_of(PAGE.read_text())))
        return 0
    if os.geteuid() != 0:
        sys.exit("only root can run the cases")
    cases = [case for case in CASES if not wanted or case.fun in wanted]
    with installed(sorted({one for case in cases for one in case.needs})):
        rows = []
        for case in cases:
            rows.append(judge(case))
            if wanted or not rows[-1].holds or rows[-1].said:
                print(rows[-1])  # noqa: T201
    holds = all(row.holds and not row.said for row in rows)
    if not wanted or holds:
        PAGE.write_text(page(rows, rows_of(PAGE.read_text()) if wanted else {}))
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
