"""Runs of states by real Salt and by us, in throw-away folders, in one shape. Used by `make oracle` and tests/oracle.

A `Case` is an SLS in which `@ROOT@` stands for a folder of the run's own. `SaltRuns` is the process of
`tools/oracle/runs/runs_salt.py`; `ours` runs the same case here. What cannot be the same twice (times, pids, folders)
is taken out.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from highstate.types import Files
    from minion.spool.journal import RunFolder

_INSIDE = Path(__file__).with_name("runs_salt.py")
_UNSTEADY = ("duration", "start_time", "pid")
_JID = "20260101000000000000"
_FAILED = "One or more requisite failed: "
"""Salt names what failed in the order of a set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One SLS, and how it is run."""

    name: str
    text: str
    test: bool = False
    opts: Mapping[str, Any] = field(default_factory=dict)
    unordered: bool = False
    """Its states run beside each other: their order is left to chance."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Path -> text of what else lies in the folder: SLS in `tree`, pillar in `pillar`, static `grains`."""
    events: bool = False
    """Whether the events that states ask for are looked at; they stand behind the lines of the log."""


Entry = Mapping[str, Any]
Answer = Mapping[str, Entry]
"""Chunk key -> what came of it; `log` -> the lines that the run's commands left, in order; or `errors`."""


class SaltRuns:
    """Real Salt, for as long as the `with` lasts."""

    def __init__(self, venv: Path) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="oracle-runs")
        self._process = subprocess.Popen(
            [venv / "bin" / "python", _INSIDE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._say(self._scratch.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.communicate()  # it ends with its questions
        self._scratch.cleanup()

    def run(self, case: Case) -> Answer:
        """What Salt makes of a case."""
        assert self._process.stdout is not None  # noqa: S101  (it was asked for)
        with _folder() as root:
            _laid_out(case, root)
            opts = _opts(case, root)
            asked = {"root": str(root), "sls": ["case"], "test": case.test, "opts": opts, "events": case.events}
            self._say(json.dumps(asked))
            line = self._process.stdout.readline()
            if not line:
                raise SystemExit(f"Salt's process ended in the middle of {case.name}")
            return _answer(case, json.loads(line), root)

    def show(self, running: Mapping[str, Any], opts: Mapping[str, Any], color: bool) -> str:
        """Salt's text for a running dictionary, by its outputter `highstate`."""
        assert self._process.stdout is not None  # noqa: S101  (it was asked for)
        self._say(json.dumps({"show": running, "opts": dict(opts), "color": color}))
        answer = json.loads(self._process.stdout.readline())
        return str(answer["text"]) if "text" in answer else "".join(answer["errors"])

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None  # noqa: S101  (it was asked for)
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()


def ours(case: Case) -> Answer:
    """What we make of a case."""
    from highstate.types import Minion
    from minion.config.group_rules import options_of
    from minion.config.language import compile_options
    from minion.execution import CompileFailed, Context, Modules
    from minion.execution.lowstate_sources import RootsCompiler
    from minion.spool.journal import RunFolders
    from minion.worker.run_hooks import run_hooks
    from minion.worker.sent_events import SentEvents

    with _folder() as root, _folder() as runs:
        _laid_out(case, root)
        run = RunFolders(runs).of(_JID)
        run.path.mkdir(parents=True)
        opts, sent = _opts(case, root), SentEvents("oracle", _JID, run, lambda: None)
        options, language = options_of(opts), compile_options(opts)
        files, pillar = _tree(root, "tree"), _tree(root, "pillar")
        minion = Minion(id="oracle", grains=_grains(root))
        context = Context(
            minion_id="oracle",
            options=options,
            opts=opts,
            make_grains=lambda: _grains(root),
            make_pillar=lambda: _pillar(root),
            make_files=lambda: files,
            make_compiler=lambda: RootsCompiler(
                files=files, pillar_files=pillar, minion=minion, language=language, options=options
            ),
            failhard=bool(opts.get("failhard")),
            make_run_hooks=lambda: run_hooks(options.state, on_result=sent.on_result),
        )
        try:
            found = {"states": Modules(context).call("state.sls", ["case"], {"test": case.test})}
        except CompileFailed as error:
            found = {"errors": [str(problem) for problem in error.problems]}
        found["events"] = [[tag, data["ret"]] for tag, data in _events(run)] if case.events else []
        return _answer(case, json.loads(json.dumps(found, default=str)), root)


def _events(run: RunFolder) -> list[tuple[str, dict[str, Any]]]:
    """What a run has sent, as an agent reads it."""
    from minion.spool.run_events import RunEventsOutbox
    from wire.messages import RunEventsAck

    outbox, found = RunEventsOutbox(), []
    outbox.follow(_JID, run.events)
    while (message := outbox.due(0.0)) is not None:
        found += message.events
        outbox.acknowledge(RunEventsAck(run_id=_JID, taken=message.end))
    return found


def difference(mine: Answer, salts: Answer) -> list[str]:
    """A line for each field that is not the same; of errors, only that there are some is compared."""
    if "errors" in mine and "errors" in salts:
        return []
    lines = []
    for key in dict.fromkeys((*salts, *mine)):
        one, other = mine.get(key), salts.get(key)
        if one is None or other is None:
            lines.append(f"{key}: ours {one}, Salt {other}")
            continue
        lines += [
            f"{key} {name}: ours {one.get(name)!r}, Salt {other.get(name)!r}"
            for name in sorted({*one, *other})
            if one.get(name) != other.get(name)
        ]
    return lines


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="oracle-run-") as name:
        yield Path(name)


def _laid_out(case: Case, root: Path) -> None:
    for path, text in {**case.files, "tree/case.sls": case.text, "pillar/top.sls": "{}"}.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(case.files.get(path, text).replace("@ROOT@", str(root)))


def _tree(root: Path, name: str) -> Files:
    from gitfs.tree.snapshot import directory_snapshot

    return directory_snapshot({"base": [str(root / name)]})


def _pillar(root: Path) -> Mapping[str, Any]:
    from highstate.pillar.pillar import compile_pillar
    from highstate.render.context import RenderContext
    from highstate.types import Minion

    minion = Minion(id="oracle", grains=_grains(root))
    return compile_pillar(RenderContext(minion=minion, files=_tree(root, "pillar"), opts={})).pillar


def _opts(case: Case, root: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(dict(case.opts)).replace("@ROOT@", str(root)))
    return found


def _grains(root: Path) -> dict[str, Any]:
    import yaml

    static = root / "grains"
    said = yaml.safe_load(static.read_text()) if static.exists() else {}
    return {"id": "oracle", "os": "Debian", "os_family": "Debian", "kernel": "Linux", **said}


def _answer(case: Case, found: Mapping[str, Any], root: Path) -> Answer:
    if "errors" in found:
        return {"errors": {"errors": found["errors"]}}
    log = root / "log"
    lines = log.read_text().splitlines() if log.exists() else []
    states = {_steady(key, root): _steady(entry, root) for key, entry in found["states"].items()}
    ordered = sorted(states.items(), key=lambda item: item[1].get("__run_num__", -1))
    ranked = {key: {**entry, "__run_num__": rank} for rank, (key, entry) in enumerate(ordered)}
    if case.unordered:
        ranked = {key: {**entry, "__run_num__": 0} for key, entry in sorted(ranked.items())}
        lines.sort()
    return {**ranked, "log": {"lines": [*lines, *(_event(tag, ret, root) for tag, ret in found.get("events", ()))]}}


_PLACE = re.compile(r" \(case\.sls:[0-9]+\)\Z")
"""Where a bad argument stands: what we add to Salt's words."""


def _event(tag: str, ret: Any, root: Path) -> str:
    """An event in a line: its tag, and all that it tells of the state but what is told of the state itself."""
    told = _steady(ret, root)
    more = {name: told[name] for name in sorted(told) if name not in ("changes", "comment", "__run_num__")}
    return f"{_steady(re.sub(r'/([0-9]{20}|None)/', '/JID/', tag), root)} {json.dumps(more)}"


def _steady(value: Any, root: Path) -> Any:
    """Without what cannot be the same twice."""
    if isinstance(value, dict):
        return {key: _steady(inner, root) for key, inner in value.items() if key not in _UNSTEADY}
    if isinstance(value, list):
        return [_steady(inner, root) for inner in value]
    if isinstance(value, str):
        head, found, names = value.partition(_FAILED)
        if found:
            value = f"{head}{found}{', '.join(sorted(names.split(', ')))}"
        value = _PLACE.sub("", value.replace(str(root), "@ROOT@"))
        return re.sub(r"(?s)Traceback \(most recent call last\):.*", "Traceback", value)
    return value
