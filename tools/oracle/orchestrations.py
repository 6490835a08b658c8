"""Record what `salt-run state.orchestrate … --out json` of real Salt answers: tests/golden/orchestration/salt.json.

    python -m tools.oracle.orchestrations [NAME ...]           record
    python -m tools.oracle.orchestrations --check [NAME ...]   compare what is recorded; `make oracle` does

Salt is that of the virtualenv SALT_VENV; without one it is installed into .cache/oracle once.

A master and three minions of the virtualenv run on the loopback, in a folder of their own. The cases are those of
`cases.yaml` in that folder; tests/scenarios/test_orchestration_golden.py gives them to ours, and compares.
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tools.oracle.__main__ import salt_venv

GOLDENS = Path(__file__).resolve().parents[2] / "tests" / "golden" / "orchestration"
MINIONS = ("web1", "web2", "db1")
_PATIENCE = 180.0
_OF_A_RUN = frozenset(("start_time", "duration", "__jid__", "jid", "_stamp", "pid"))
"""Fields whose values are those of one run."""
_TIMES = re.compile(r"\b\d+\.\d+(?=( seconds| ms)\b)")
_DOCUMENT = re.compile(r"^[{\[]", re.MULTILINE)
_NAMES = re.compile(r"((?:Updating|made to|ran on|minions:) )(\w+(?:, \w+)+)")
"""Minions, which Salt names in the order in which they answer."""
_TRACE = re.compile(r"Traceback \(most recent call last\):.*?\n(?=\w)", re.DOTALL)
_FUNCTIONS = re.compile(r"There are: [^\n]*")
"""All functions of a module."""
_JIDS = re.compile(r"\b\d{20}\b")


def cases() -> dict[str, Any]:
    """All cases by name; those that want minions down come last."""
    found: dict[str, Any] = yaml.safe_load((GOLDENS / "cases.yaml").read_text())
    return dict(sorted(found.items(), key=lambda item: bool(item[1].get("without"))))


def recorded() -> dict[str, Any]:
    """What Salt answered."""
    found: dict[str, Any] = json.loads((GOLDENS / "salt.json").read_text())
    return found


def place(tree: Path, every: Mapping[str, Any]) -> None:
    """Write the tree: that of the folder, and the orchestration of each case as `orch/NAME.sls`."""
    shutil.copytree(GOLDENS / "tree", tree, dirs_exist_ok=True)
    for name, case in every.items():
        for sls, text in {**case.get("more", {}), **({"init": case["sls"]} if "sls" in case else {})}.items():
            path = tree / "orch" / _folder(name) / f"{sls}.sls"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_named(text, name))


def words(name: str, case: Mapping[str, Any]) -> list[str]:
    """The arguments of `salt-run`, or of `saltern runner`."""
    if "words" in case:
        return list(case["words"])
    more = [_named(case["call"], name)] if "call" in case else []
    return [case.get("function", "state.orchestrate"), f"orch.{_folder(name)}", *more]


def answer(code: int, stdout: str, own_id: str) -> dict[str, Any]:
    """What was answered, without what differs from run to run; of several documents the last, of a text the first line.

    Args:
        code: exit code.
        stdout: what was written; JSON, or a message.
        own_id: of the master's machine.
    """
    starts = [found.start() for found in _DOCUMENT.finditer(stdout)]
    for start in reversed(starts):
        try:
            return {"code": code, "answer": _settled(json.loads(stdout[start:]), own_id)}
        except ValueError:
            continue
    text = str(json.loads(stdout)) if stdout.startswith('"') else stdout
    return {"code": code, "text": text.strip().partition("\n")[0]}


def _settled(value: Any, own_id: str) -> Any:
    if isinstance(value, Mapping):
        return {
            str(key).replace(own_id, "MASTER"): "…" if key in _OF_A_RUN else _settled(one, own_id)
            for key, one in value.items()
            if not str(key).startswith("__pub_")
        }
    if isinstance(value, list):
        return [_settled(one, own_id) for one in value]
    if isinstance(value, str):
        text = _TRACE.sub("", _TIMES.sub("SECONDS", _JIDS.sub("JID", value.replace(own_id, "MASTER"))))
        text = _FUNCTIONS.sub("There are: …", text)
        return _NAMES.sub(lambda found: found[1] + ", ".join(sorted(found[2].split(", "))), text)
    return value


def _folder(name: str) -> str:
    return name.replace("-", "_")


def _named(text: str, name: str) -> str:
    """An SLS `inner` is one beside that of the case."""
    folder = f"orch.{_folder(name)}.inner"
    return re.sub(r"((?:- |mods: |sls: |exclude=))inner$", rf"\1{folder}", text, flags=re.MULTILINE)


def _free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(each.getsockname()[1]) for each in held]
    for each in held:
        each.close()
    return ports


@dataclass(slots=True)
class SaltMaster:
    """Real Salt on this machine: a master, and minions whose keys it takes without asking."""

    bin: Path
    folder: Path
    options: Mapping[str, Any] = field(default_factory=dict)
    """More of the master."""
    minion_options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """More of a minion."""
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self) -> None:
        """Start all, and wait until all minions answer."""
        publish, request = _free_ports(2)
        common = {"user": "root", "log_level": "warning", "log_level_logfile": "quiet", "log_file": "/dev/null"}
        master = {
            "interface": "127.0.0.1",
            "publish_port": publish,
            "ret_port": request,
            "open_mode": True,
            "worker_threads": 3,
            "root_dir": str(self.folder / "m"),
            "file_roots": {"base": [str(self.folder / "tree")]},
            "pillar_roots": {"base": [str(self.folder / "pillar")]},
            "fileserver_followsymlinks": False,
            "timeout": 30,
            "gather_job_timeout": 15,
            **common,
            **self.options,
        }
        self._write("master", master)
        self._spawn("master", "salt-master")
        for minion in MINIONS:
            own = {"id": minion, "master": "127.0.0.1", "publish_port": publish, "master_port": request, **common}
            own |= {"root_dir": str(self.folder / minion / "root"), **self.minion_options.get(minion, {})}
            self._write("minion", own, minion)
            self._spawn(minion, "salt-minion", minion)
        self._wait()

    def call(self, arguments: Sequence[str]) -> dict[str, Any]:
        """What `salt-run` answers."""
        done = subprocess.run(
            [self.bin / "salt-run", "-c", str(self.folder / "etc"), "-l", "quiet", "--out", "json", *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE,
        )
        return answer(done.returncode, done.stdout, f"{socket.gethostname()}_master")

    def stop(self, names: Sequence[str]) -> None:
        """End some of them."""
        for name in names:
            if (process := self.processes.pop(name, None)) is not None:
                process.terminate()
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()

    def _wait(self) -> None:
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            found = self.call(["manage.up", "timeout=5", "gather_job_timeout=5"])
            if set(found.get("answer") or ()) == set(MINIONS):
                return
        raise SystemExit("the minions do not answer")

    def _write(self, name: str, options: Mapping[str, Any], folder: str = "etc") -> None:
        path = self.folder / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(dict(options)))

    def _spawn(self, name: str, program: str, folder: str = "etc") -> None:
        with (self.folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [self.bin / program, "-c", str(self.folder / folder)], stdout=log, stderr=log, start_new_session=True
            )


@contextmanager
def salt(venv: Path, every: Mapping[str, Any]) -> Iterator[SaltMaster]:
    """Salt with the tree of these cases."""
    with tempfile.TemporaryDirectory(prefix="oracle-", dir="/tmp") as name:
        folder = Path(name)
        (folder / "pillar").mkdir()
        place(folder / "tree", every)
        made = SaltMaster(venv / "bin", folder)
        try:
            made.start()
            yield made
        finally:
            made.stop([*MINIONS, "master"])


def main() -> int:
    """Record the cases that are named, or all; with `--check` compare. The exit code is 1 on a difference."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--salt", type=Path, help="virtualenv that has Salt (default: SALT_VENV, or .cache/oracle)")
    parser.add_argument("--check", action="store_true", help="compare with what is recorded, and write nothing")
    parser.add_argument("names", nargs="*", help="names of cases (default: all)")
    options = parser.parse_args()
    path, every = GOLDENS / "salt.json", cases()
    if unknown := set(options.names) - set(every):
        parser.error(f"there is no case {', '.join(sorted(unknown))}")
    known = recorded() if path.exists() else {}
    found = dict(known) if options.names else {}
    differing = []
    with salt(salt_venv(options.salt), every) as made:
        for name, case in every.items():
            if options.names and name not in options.names:
                continue
            made.stop(case.get("without", ()))
            found[name] = made.call(words(name, case))
            if options.check and found[name] != known.get(name):
                differing.append(name)
                sys.stderr.write("".join(_difference(name, known.get(name), found[name])))
            if not options.check:
                sys.stderr.write(f"{name}: {found[name]['code']}\n")
                path.write_text(_text(found))
    if options.check:
        sys.stderr.write(f"orchestrations: {len(options.names or every)} compared, {len(differing)} differ\n")
    return 1 if differing else 0


def _text(value: Any) -> str:
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _difference(name: str, known: Any, found: Any) -> Iterator[str]:
    """The lines that differ."""
    before, now = _text(known).splitlines(keepends=True), _text(found).splitlines(keepends=True)
    return difflib.unified_diff(before, now, f"{name} as recorded", f"{name} of Salt", n=1)


if __name__ == "__main__":
    sys.exit(main())
