"""The execution module `nginx`: what nginx(8) tells of itself, and the signals that it takes.

Behaviour: doc/ref/modules/all/salt.modules.nginx.
"""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Mapping
from typing import Any

from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.machine.plan import Completed

_SIGNALS = ("quit", "reload", "reopen", "start", "stop")
_NUMBERS = ("active connections", "accepted", "handled", "requests", "reading", "writing", "waiting")
_ARGUMENT = re.compile(r"(?:[^\s']|'[^']*')+")
_MISSING = 127
_SECONDS = 10
_MOST_BYTES = 65536


def version(context: Context) -> str:
    """The version of nginx."""
    return _told(context, "-v").stderr.splitlines()[0].rpartition("/")[2]


def build_info(context: Context) -> dict[str, list[str]]:
    """What nginx says of how it was built: `info`, and `build arguments`."""
    found: dict[str, list[str]] = {"info": []}
    for line in _told(context, "-V").stderr.splitlines():
        if line.startswith("configure arguments:"):
            found["build arguments"] = _ARGUMENT.findall(line.partition(":")[2])
        else:
            found["info"].append(line)
    return found


def configtest(context: Context) -> dict[str, Any]:
    """Whether nginx can take its configuration."""
    done = _told(context, "-t")
    if done.returncode != 0:
        return {"comment": "Syntax Error", "stderr": done.stderr.strip(), "result": False}
    return {"comment": "Syntax OK", "stdout": done.stderr.strip(), "result": True}


def signal(context: Context, signal: str) -> str:
    """Start nginx, or have it `reload`, `reopen` its logs, `stop` or `quit`; what it says."""
    if signal not in _SIGNALS:
        raise CallFailed(f"signal must be one of {', '.join(_SIGNALS)}")
    words = [] if signal == "start" else ["-s", signal]
    done = _there(context.machine.run(["nginx", *words]))
    said = done.stderr.strip() or done.stdout.strip()
    if done.returncode != 0:
        raise CallFailed(said)
    return said or f'Command: "{" ".join(["nginx", *words])}" completed successfully!'


def status(context: Context, url: str = "http://127.0.0.1/status") -> dict[str, int]:
    """The numbers of nginx's page of its state (`stub_status`)."""
    if not url.startswith(("http://", "https://")):
        raise CallFailed(f"{url} is no address of a page")
    try:
        with urllib.request.urlopen(url, timeout=_SECONDS) as answer:  # noqa: S310  (checked above)
            text = answer.read(_MOST_BYTES).decode(errors="replace")
    except (OSError, ValueError) as error:
        raise CallFailed(f"{url}: {error}") from error
    numbers = [int(one) for one in re.findall(r"\b\d+\b", text)]
    if len(numbers) != len(_NUMBERS) or not text.startswith("Active connections:"):
        raise CallFailed(f"{url} is no page of nginx's stub_status")
    return dict(zip(_NUMBERS, numbers, strict=True))


def _told(context: Context, *words: str) -> Completed:
    return _there(context.machine.query(["nginx", *words]))


def _there(done: Completed) -> Completed:
    if done.returncode == _MISSING:
        raise CallFailed("nginx is not there: install it (Debian: nginx-light)")
    return done


FUNCTIONS: Mapping[str, Any] = {
    "build_info": build_info,
    "configtest": configtest,
    "signal": signal,
    "status": status,
    "version": version,
}
