"""Steps on the machine: `switch.py` there, run by the agent that answers, as states of a document of the call's own.

A stock minion gets such a document by the gateway's file server, which only it reads there; what is published names no
more than the job. Each step is a run of the history.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import msgspec

from controller.jobs.jobs import Asked, Jobs
from controller.observe.run_text import requested
from controller.sessions.file_server import FileServer
from controller.ssh.bundle import TargetPython, WorkerBundle
from controller.ssh.command import PYTHON_SHIM
from controller.store import RunRecord
from highstate.desired import Desired
from highstate.types import Chunk
from wire import patch
from wire.messages import STATES_OF_CALL, Call, RunResult

SLS = "saltern_agent"
FUNCTION = "migrate.agent"
"""By which the history names the steps."""
MARK = "saltern-switch: "
"""As in `controller.replacement.switch`, which imports nothing."""
BUNDLE = f"{SLS}/agent.tar.gz"
BUNDLE_THERE = "/var/cache/saltern-agent.tar.gz"
PREFIX = "/opt/saltern"
SALT_FOLDER = "/etc/salt"
CONFIG_FOLDER = "/etc/saltern"
LOOK_SECONDS = 0.2
"""Between two looks whether somebody has come, or is there."""
_WORD = re.compile(r"\w{1,40}", re.ASCII)
_MOST_TEXT = 2000


class MachineStepFailed(Exception):
    """A step was not done; `hint` says what to do."""

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(text)
        self.hint = hint


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineReport:
    """What a machine says of itself, with nothing of which it could have us do anything but refuse it."""

    python: TargetPython
    root: bool
    venv: bool
    manager: str
    """`systemd`, `init scripts`; empty: neither."""
    services: Mapping[str, bool]
    configured: bool
    """Whether /etc/salt has the configuration of a minion."""
    grains: bool
    program: str
    """A `saltern` that is installed there already; empty: none."""
    free: int
    """Bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineSteps:
    """Has steps done.

    Args:
        jobs: sends calls, and waits.
        file_server: serves what they need.
        clock: seconds since the epoch.
        seconds: that a step may take.
        away_seconds: that the agent which does it may be away meanwhile.
    """

    jobs: Jobs
    file_server: FileServer
    clock: Callable[[], float]
    seconds: float
    away_seconds: float

    async def look(self, minion: str, user: str) -> MachineReport:
        """What is there; changes nothing. MachineStepFailed."""
        return report_of(await self._step(minion, {"step": "look", "salt": SALT_FOLDER, "prefix": PREFIX}, user))

    async def install(
        self, minion: str, bundle: WorkerBundle, unit: str, own: Mapping[str, Any], user: str
    ) -> tuple[str, tuple[str, ...]]:
        """Put the new agent in place, and start it. MachineStepFailed.

        Args:
            minion: whose agent answers now.
            bundle: the new agent.
            unit: text of its systemd unit.
            own: options of its configuration that are not Salt's.
            user: who asks.

        Returns:
            Its public key, as it says it, and what of Salt's configuration it does not take.
        """
        given = {
            "step": "install",
            "prefix": PREFIX,
            "bundle": BUNDLE_THERE,
            "digest": bundle.digest,
            "unit": unit,
            "conversion": {"salt": SALT_FOLDER, "config": CONFIG_FOLDER, "own": dict(own)},
        }
        with self.file_server.offered(bundle.digest, bundle.path):
            told = await self._step(minion, given, user, bundle=bundle.digest)
        left = told.get("left_out")
        notes = tuple(str(each)[:300] for each in left[:200]) if isinstance(left, list) else ()
        return str(told.get("public", ""))[:100], notes

    async def start(self, minion: str, service: str, user: str) -> None:
        """Start a service, and at each boot. MachineStepFailed."""
        await self._step(minion, {"step": "start", "service": service}, user)

    async def stop(self, minion: str, service: str, user: str, *, purge: bool = False) -> None:
        """Stop a service for good, and remove its package. MachineStepFailed."""
        await self._step(minion, {"step": "stop", "service": service, "purge": purge}, user)

    async def _step(self, minion: str, given: Mapping[str, Any], user: str, bundle: str = "") -> dict[str, Any]:
        session = self.jobs.sessions.session(minion)
        if session is None or STATES_OF_CALL not in session.takes:
            raise MachineStepFailed("the minion is not connected", "ask again when it is")
        document = desired_of_step(given, bundle).as_document()
        step = str(given["step"])
        run = RunRecord(
            run_id=self.jobs.ids.next(),
            minion=minion,
            kind="call",
            created=self.clock(),
            reason=requested(f"{FUNCTION} {step}", user),
            user=user,
            fun=FUNCTION,
            args=step,
        )
        digest = patch.digest(document)
        call = Call(
            run_id=run.run_id,
            fun="state.sls",
            args=(SLS,),
            kwargs={"queue": True},
            digest=digest,
            document=msgspec.msgpack.encode(document),
        )
        asked = self.jobs.ask(run, call)
        told = asyncio.ensure_future(self._told(minion, asked))
        away = asyncio.ensure_future(self._away(minion, session.key))
        try:
            await asyncio.wait({told, away}, return_when=asyncio.FIRST_COMPLETED)
            if told.done():
                return told.result()
        finally:
            for each in (told, away):
                each.cancel()
            await asyncio.gather(told, away, return_exceptions=True)
        raise MachineStepFailed(
            f"the agent that did it has not been connected for {self.away_seconds:g} s",
            "start its service on the machine, and ask again",
        )

    async def _away(self, minion: str, key: str) -> None:
        """Return when the agent with this key has been away for too long."""
        clock = asyncio.get_running_loop().time
        there = clock()
        while clock() - there <= self.away_seconds:
            await asyncio.sleep(LOOK_SECONDS)
            session = self.jobs.sessions.session(minion)
            if session is not None and session.key == key:
                there = clock()

    async def _told(self, minion: str, asked: Asked) -> dict[str, Any]:
        """What the machine says. MachineStepFailed."""
        async for _, _, result in self.jobs.gather({minion: asked}, self.seconds):
            if result is None:
                raise MachineStepFailed(f"the minion has not answered within {self.seconds:g} s", "ask again")
            return told_by(result)
        raise MachineStepFailed("the minion is not connected", "ask again when it is")


def desired_of_step(given: Mapping[str, Any], bundle: str) -> Desired:
    """The document of a step: the bundle, where it needs one, and the command.

    Args:
        given: what `switch.py` is told.
        bundle: id of the content; empty: none.
    """
    chunks = []
    if bundle:
        arguments = {"source": f"salt://{BUNDLE}", "source_hash": f"sha256={bundle}", "mode": "0600"}
        chunks.append(_chunk("file", "managed", BUNDLE_THERE, BUNDLE_THERE, arguments))
    line = shlex.join(["/bin/sh", "-c", PYTHON_SHIM.format(arguments="-")])
    script = files("controller.replacement").joinpath("switch.py").read_text(encoding="utf-8")
    script += f"\n\nmain(json.loads({json.dumps(given)!r}))\n"
    # Salt makes a line break of each backslash with an n in `stdin`.
    packed = base64.b64encode(script.encode()).decode("ascii")
    given_to = f'import base64; exec(compile(base64.b64decode("{packed}"), "switch.py", "exec"))'
    requisite = {"require": [{"file": BUNDLE_THERE}]} if bundle else {}
    chunks.append(_chunk("cmd", "run", f"agent {given['step']}", line, {"stdin": given_to, **requisite}))
    return Desired(
        chunks={each.tag: each for each in chunks}, files={"base": {BUNDLE: bundle}} if bundle else {"base": {}}
    )


def _chunk(state: str, fun: str, identifier: str, name: str, arguments: Mapping[str, Any]) -> Chunk:
    return Chunk(state=state, fun=fun, id=identifier, name=name, sls=SLS, arguments=arguments)


def told_by(result: RunResult) -> dict[str, Any]:
    """What `switch.py` has said. MachineStepFailed: it refuses, or has said nothing."""
    states = result.value if isinstance(result.value, dict) else result.states
    for tag, state in (states or {}).items():
        if not isinstance(state, dict):
            continue
        changes = state.get("changes")
        said = changes.get("stdout") if isinstance(changes, dict) else None
        line = next((each for each in str(said).splitlines() if each.startswith(MARK)), "")
        if str(tag).startswith("cmd_|-") and line:
            return _answer(line.removeprefix(MARK))
        if state.get("result") is False and not str(tag).startswith("cmd_|-"):
            raise MachineStepFailed(f"{state.get('comment')}"[:_MOST_TEXT], "ask again")
        if state.get("result") is False:
            error = changes.get("stderr") if isinstance(changes, dict) else ""
            why = f"{error or state.get('comment')}"[:_MOST_TEXT]
            raise MachineStepFailed(why, "install Python 3.11 or later there")
    raise MachineStepFailed((result.error or f"the minion returned {result.value!r}")[:_MOST_TEXT], "ask again")


def _answer(text: str) -> dict[str, Any]:
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        raise MachineStepFailed("the machine says what is no answer")
    if "why" in told:
        raise MachineStepFailed(str(told["why"])[:_MOST_TEXT], str(told.get("hint", ""))[:_MOST_TEXT])
    return told


def report_of(told: Mapping[str, Any]) -> MachineReport:
    """The answer of `look`. MachineStepFailed: it is none. What it says of Python is given to pip, and names a file."""
    match told:
        case {
            "python": [int(major), int(minor)],
            "magic": str(magic),
            "machine": str(machine),
            "libc": str(libc),
            "root": bool(root),
            "venv": bool(venv),
            "manager": str(manager),
            "services": {"salt-minion": bool(salt), "saltern-minion": bool(saltern)},
            "configured": bool(configured),
            "grains": bool(grains),
            "program": str(program),
            "free": int(free),
        } if _WORD.fullmatch(machine) and _WORD.fullmatch(libc or "other") and 3 <= major < 10 and 0 <= minor < 100:
            return MachineReport(
                python=TargetPython(version=(major, minor), magic=magic, machine=machine, libc=libc),
                root=root,
                venv=venv,
                manager=manager[:40],
                services={"salt-minion": salt, "saltern-minion": saltern},
                configured=configured,
                grains=grains,
                program=program[:300],
                free=free,
            )
    raise MachineStepFailed("the machine does not say what is there")
