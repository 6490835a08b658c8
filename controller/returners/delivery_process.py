"""The process that delivers to one returner: kept running, woken when something waits, ended by its own deadline."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from minion.returners.delivery import LONGEST_WAIT
from minion.returners.spool import Spool

log = structlog.get_logger("saltern.returners")


@dataclass(slots=True, kw_only=True)
class DeliveryProcess:
    """Keeps the process of a returner running."""

    returner: str
    spool: Spool
    opts: Mapping[str, Any]
    """Its options; written to the process's input, where nobody else sees them."""
    seconds: float
    """That one delivery may take."""
    _process: asyncio.subprocess.Process | None = None

    async def run(self) -> None:
        """Until cancelled."""
        ended = 0
        while True:
            process = self._process = await self._start()
            try:
                code = await process.wait()
            finally:
                self._process = None
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            late = code == -signal.SIGALRM
            why = f"it took more than {self.seconds:g} s" if late else f"its process ended with {code}"
            with contextlib.suppress(OSError):
                await asyncio.to_thread(self.spool.failed, self.returner, why)
            log.error("returner: the process is started again", returner=self.returner, reason=why)
            await asyncio.sleep(min(LONGEST_WAIT, 2.0 ** min(ended, 10)))
            ended += 1

    def wake(self) -> None:
        """Something waits."""
        pipe = None if self._process is None else self._process.stdin
        if pipe is not None and not pipe.is_closing() and pipe.transport.get_write_buffer_size() == 0:
            pipe.write(b"\n")

    async def _start(self) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            "saltern.run_module",
            "controller.returners.deliver",
            stdin=asyncio.subprocess.PIPE,
            env={key: os.environ[key] for key in ("PATH", "LANG", "PYTHONPATH", "HOME") if key in os.environ},
            process_group=0,
        )
        job = {"spool": str(self.spool.path), "returner": self.returner, "opts": self.opts, "seconds": self.seconds}
        assert process.stdin is not None  # noqa: S101 - a pipe was asked for
        process.stdin.write(json.dumps(job, default=str).encode() + b"\n")
        return process
