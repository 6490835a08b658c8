"""The two sides: a salt-master with a minion, and a controller with the gateway and such a minion. All of it is real.

Both minions have one id, the same grains, and states that write to one folder, which is made anew between: so what they
return needs no names replaced. Used by `comparison.py` beside.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from rig import Rig, free_ports
from stock_minions import StockMinions, salt_processes_end

from tools.oracle.beside_master.cases import TwoSidedCase

MINION = "web1"
GRAINS = {"roles": ["web", "proxy"], "site": "here"}
PATIENCE = 300.0
_NOT_ANSWERED = "did not answer within"
_SALTENVS = ("base", "qa")
_POLICY = {
    **{"push": "whole", "drift": {"interval": 0}, "retry": {"limit": 0}, "prune": "off", "verify": "none"},
    **{"missing_source": "fail_state", "facts": ["golden.*", "cmd.run"]},
}
"""What a push means to Salt: all states, once, whatever is missing and whatever templates ask."""


class NoAnswer(Exception):
    """A side did not come to where it should."""


def laid_out(case: TwoSidedCase, folder: Path, target: Path) -> None:
    """Write the tree of a case, in place of the one that is there."""
    for kind in ("states", "pillar"):
        for saltenv in _SALTENVS:
            place = folder / _folder(kind, saltenv)
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            (place / ".keep").touch()
    policy = {**_POLICY, "apply": "auto" if case.applies else "manual"}
    files = {**case.files, "states/saltern.yaml": yaml.safe_dump(policy).encode()}
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.replace(b"@ROOT@", str(target).encode()))


class ForkedPrograms:
    """Salt's programs of a virtualenv, loaded once (`salt_programs.py` beside).

    Args:
        venv: with Salt.
    """

    def __init__(self, venv: Path) -> None:
        words = [venv / "bin/python", Path(__file__).with_name("salt_programs.py")]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def read(self, words: Sequence[str | Path], key: str) -> Any:
        """The document that a program prints, or what stands in it under a key; {"errors"} where it prints none."""
        asked, answers = self._process.stdin, self._process.stdout
        if asked is None or answers is None:
            raise NoAnswer("the programs")
        asked.write(json.dumps({"words": [str(word) for word in words], "seconds": int(PATIENCE)}) + "\n")
        asked.flush()
        answer = json.loads(answers.readline())
        return _read(answer["stdout"], answer["stderr"], key)

    def stop(self) -> None:
        """End it, and close its pipes."""
        with self._process:
            self._process.kill()


class MasterSide:
    """A salt-master and its minion.

    Args:
        venv: with Salt.
        folder: of all files; made.
        target: where states write to.
    """

    def __init__(self, venv: Path, folder: Path, target: Path) -> None:
        self._bin, self._folder, self._target = venv / "bin", folder, target
        self._processes: list[subprocess.Popen[bytes]] = []
        self._programs = ForkedPrograms(venv)
        (folder / "etc").mkdir(parents=True)

    @property
    def minion_root(self) -> Path:
        """Below which the minion has its files."""
        return self._folder / "minion"

    def start(self) -> None:
        """Start both, and wait until the minion answers."""
        publish, request = free_ports(2)
        tree = self._folder / "tree"
        common = {"user": "root", "log_level": "warning", "log_file": "/dev/null", "log_level_logfile": "quiet"}
        roots = {
            f"{name}_roots": {env: [str(tree / _folder(kind, env))] for env in _SALTENVS}
            for name, kind in (("file", "states"), ("pillar", "pillar"))
        }
        master = {
            **{"interface": "127.0.0.1", "publish_port": publish, "ret_port": request, "open_mode": True},
            **{"worker_threads": 3, "root_dir": str(self._folder / "master"), "timeout": 60, "gather_job_timeout": 30},
            **{"fileserver_list_cache_time": 0, **roots, **common},
        }
        minion = {
            **{"id": MINION, "master": "127.0.0.1", "publish_port": publish, "master_port": request, "grains": GRAINS},
            **{"root_dir": str(self.minion_root), **common},
        }
        for name, options in (("master", master), ("minion", minion)):
            (self._folder / "etc" / name).write_text(yaml.safe_dump(options))
            with (self._folder / f"{name}.log").open("wb") as log:
                words: list[str | Path] = [self._bin.absolute() / f"salt-{name}", "-c", self._folder / "etc"]
                self._processes.append(
                    subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True, cwd=self._folder)
                )
        deadline = time.monotonic() + PATIENCE
        while self.run(("test.ping",)) is not True:
            if time.monotonic() > deadline:
                raise NoAnswer("the minion of the master")

    def stop(self) -> None:
        """End both."""
        self._programs.stop()
        for process in reversed(self._processes):
            salt_processes_end(process)

    def give(self, case: TwoSidedCase) -> Any:
        """The tree of a case."""
        laid_out(case, self._folder / "tree", self._target)

    def run(self, words: Sequence[str]) -> Any:
        """What the minion returns when its master has it run a function; a text where it is no JSON."""
        return self._programs.read(self._words("salt", "--static", MINION, *words), MINION)

    def call(self, words: Sequence[str]) -> Any:
        """The same of `salt-call`."""
        return self._programs.read(self._words("salt-call", *words), "local")

    def _words(self, program: str, *words: str) -> Sequence[str | Path]:
        first, *more = words
        return [self._bin / program, "-c", self._folder / "etc", "-l", "quiet", "--out", "json", first, *more]


class GatewaySide:
    """A controller, the gateway, and its minion.

    Args:
        venv: with Salt.
        folder: of all files; made.
        target: where states write to.
    """

    def __init__(self, venv: Path, folder: Path, target: Path) -> None:
        self._venv, self._folder, self._target = venv, folder, target
        self._programs = ForkedPrograms(venv)
        first = folder / "first"
        empty = {"states/top.sls": b"{}\n", "pillar/top.sls": b"{}\n"}
        laid_out(TwoSidedCase(name="first", files=empty), first, target)
        remote = str(folder / "rig/remote.git")
        saltenvs = [{saltenv: [{"ref": "main"}, {"root": _folder("states", saltenv)}]} for saltenv in _SALTENVS]
        more = {
            "gitfs_remotes": [{remote: [{"saltenv": saltenvs}]}],
            "ext_pillar": [
                {"git": [{f"main {remote}": [{"root": _folder("pillar", saltenv)}, {"env": saltenv}]}]}
                for saltenv in _SALTENVS
            ],
            "gitfs_saltenv_whitelist": ["base", "qa"],
        }
        self.rig = Rig(folder / "rig", {}, first, more, forked=True)
        self._stock: StockMinions | None = None

    @property
    def minion_root(self) -> Path:
        """Below which the minion has its files."""
        return self._folder / "stock" / MINION

    def start(self) -> None:
        """Start all, and wait until the minion is there."""
        self.rig.up()
        self.rig.push("first")
        stock = self._stock = StockMinions(self.rig, self._folder / "stock")
        stock.start_gateway()
        # What a log formats can raise, as of an undefined value: neither side has one.
        stock.start_minion(self._venv, MINION, {"grains": GRAINS, "log_level_logfile": "quiet"})
        stock.wait("its key", lambda: MINION in self.rig.keys("pending"), PATIENCE)
        self.rig.saltern("key", "accept", MINION)
        stock.wait("the minion", lambda: self.rig.status().get(MINION, {}).get("connected"), PATIENCE)

    def stop(self) -> None:
        """End all."""
        self._programs.stop()
        if self._stock is not None:
            self._stock.__exit__(None, None, None)
        self.rig.stop_all()

    def give(self, case: TwoSidedCase) -> Any:
        """Push the tree of a case; what the push ran: states, or {"errors"}, or None where it applies nothing."""
        laid_out(case, self.rig.work, self._target)
        head = self.rig.push(case.name)
        deadline = time.monotonic() + PATIENCE
        while (found := self._pushed(head, case.applies)) is False:
            if time.monotonic() > deadline:
                raise NoAnswer(f"{case.name}: {self.rig.status()[MINION]}\n{self.rig.log('controller')}")
            time.sleep(0.1)
        return found

    def _pushed(self, head: str, applies: bool) -> Any:
        status = self.rig.status()[MINION]
        compiled = self.rig.ask("/compile", minion=MINION)
        if compiled["revision"] != head:
            return False
        if any(_NOT_ANSWERED in str(one) for one in compiled["errors"]):
            return False  # it is compiled again
        if compiled["errors"]:
            return {"errors": [str(one) for one in compiled["errors"]]}
        if not applies:
            return None
        done = [run for run in self.rig.history(MINION, limit=5) if run["kind"] == "apply" and run["revision"] == head]
        if done and done[0]["state"] == "finished":
            found = self.rig.ask("/run", id=done[0]["run_id"])
            return {"errors": [found["error"]]} if found["error"] else found["states"]
        return {} if status["applied_revision"] == head and not done else False

    def run(self, words: Sequence[str]) -> Any:
        """What the minion returns to `saltern run`."""
        done = self.rig.saltern("run", MINION, "-t", str(PATIENCE), "--out", "json", *words, check=False)
        return _read(done.stdout, done.stderr, MINION)

    def call(self, words: Sequence[str]) -> Any:
        """What its `salt-call` prints."""
        program, etc = self._venv / "bin/salt-call", self.minion_root / "etc"
        return self._programs.read([program, "-c", etc, "-l", "quiet", "--out", "json", *words], "local")


def _folder(kind: str, saltenv: str) -> str:
    return kind if saltenv == "base" else f"{kind}@{saltenv}"


def _read(output: str, errors: str, key: str) -> Any:
    try:
        found = json.loads(output)
    except ValueError:
        return {"errors": [(output + errors).strip()]}
    return found[key] if isinstance(found, Mapping) and key in found else found
