"""Asks the conditions under which a rollout goes on: a Prometheus server, kept events, programs of the administrator.

A gate that cannot be asked has not passed. Each is bounded in time and in what is read of its answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from controller.policy.rollout import Gate
from controller.rollouts.rollout import Rollout
from controller.store import Store
from reactors.events import tag_matches

GATE_SECONDS = 30.0
"""For one program or query."""
MAX_ANSWER = 1024 * 1024
_MOST_EVENTS = 20_000
_SHOWN = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Gates:
    """What gates are asked of.

    Args:
        store: has the events.
        clock: seconds since the epoch.
        prometheus_url: the server; empty: there is none.
        commands: name -> program with its arguments.
    """

    store: Store
    clock: Callable[[], float]
    prometheus_url: str = ""
    commands: Mapping[str, Sequence[str]] = field(default_factory=dict)

    async def check(self, rollout: Rollout, gates: Sequence[Gate]) -> str:
        """Why the first gate that does not pass does not; empty where all do."""
        for gate in gates:
            if problem := await self._check(rollout, gate):
                return f"{gate.text[:_SHOWN]}: {problem}"
        return ""

    async def _check(self, rollout: Rollout, gate: Gate) -> str:
        if gate.prometheus:
            return await asyncio.to_thread(self._ask_prometheus, gate)
        if gate.event:
            return await asyncio.to_thread(self._quiet, rollout, gate)
        return await self._run(rollout, gate.command)

    def _ask_prometheus(self, gate: Gate) -> str:
        import httpx  # 12 MiB, and few controllers have such gates

        if not self.prometheus_url:
            return "the controller's option prometheus_url is not set"
        url = f"{self.prometheus_url.rstrip('/')}/api/v1/query"
        try:
            with httpx.stream("POST", url, data={"query": gate.prometheus}, timeout=GATE_SECONDS) as answer:
                body = b""
                for part in answer.iter_bytes():
                    body += part
                    if len(body) > MAX_ANSWER:
                        return f"its answer has more than {MAX_ANSWER} bytes"
            said = json.loads(body)
            if said.get("status") != "success":
                return str(said.get("error", f"the server answers {answer.status_code}"))[:_SHOWN]
            result = said["data"]["result"]
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return f"{self.prometheus_url} cannot be asked: {error}"[:_SHOWN]
        except (ValueError, KeyError, AttributeError, TypeError):
            return "the answer is not that of a Prometheus server"
        if bool(result) is (gate.expect == "nonempty"):
            return ""
        return f"the answer is {'empty' if not result else json.dumps(result)}"[:_SHOWN]

    def _quiet(self, rollout: Rollout, gate: Gate) -> str:
        since = max(self.clock() - gate.quiet, rollout.released_at or 0.0)
        head = gate.event.partition("*")[0].partition("?")[0].partition("[")[0]
        for event in self.store.events.since(since, head, _MOST_EVENTS):
            if tag_matches(gate.event, event.tag):
                return f"there was {event.tag}"[:_SHOWN]
        left = (rollout.released_at or 0.0) + gate.quiet - self.clock()
        return f"quiet so far, {left:.0f} s to go" if left > 0 else ""

    async def _run(self, rollout: Rollout, name: str) -> str:
        words = self.commands.get(name)
        if not words:
            return "the controller's option rollout_commands does not have it"
        batch = rollout.batch
        about = {
            "SALTERN_ROLLOUT": rollout.id,
            "SALTERN_REVISION": rollout.label,
            "SALTERN_WAVE": batch.wave if batch else "",
            "SALTERN_MINIONS": " ".join(batch.minions[:1000]) if batch else "",
        }
        try:
            process = await asyncio.create_subprocess_exec(
                *words,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                env={**os.environ, **about},
                start_new_session=True,
            )
        except OSError as error:
            return f"{words[0]} cannot be started: {error.strerror}"
        try:
            async with asyncio.timeout(GATE_SECONDS):
                code = await process.wait()
        except TimeoutError:
            return f"no end within {GATE_SECONDS:g} s"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
        return "" if code == 0 else f"exit code {code}"
