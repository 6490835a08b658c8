"""cmd.script: a script of the tree, run from a file that only its user can write.

Called by `minion.states.cmd.state`. The file lies in the working directory when one is given, as Salt has it, and is
removed whatever the script does.
"""

from __future__ import annotations

import posixpath
import secrets
import shlex
from collections.abc import Callable, Mapping

from highstate.salt_urls import split_salt_url
from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader, Value

Runner = Callable[[Machine, str], Completed]


def source_of(name: str, source: str | None) -> tuple[str, str]:
    """Path of the script and its arguments as one text: both may stand in `name`. StateFailed when it is empty."""
    words = name.split(None, 1)
    if not words:
        raise StateFailed("cmd.script needs the path of a script in name")
    return source or words[0], words[1] if len(words) > 1 else ""


def content(machine: Reader, path: str, saltenv: str, template: str | None, context: Mapping[str, Value]) -> bytes:
    """The script; StateFailed when it cannot be had."""
    if not path.startswith("salt://"):
        if not path.startswith("/"):
            raise StateFailed(f"The script {path!r} must be salt://…, or a path on the machine")
        try:
            return machine.read(path)
        except OSError as error:
            raise StateFailed(f"Unable to read script {path}: {error.strerror}") from error
    place, env = split_salt_url(path, saltenv)
    try:
        if template:
            if template != "jinja":
                raise StateFailed(f"cmd.script renders with jinja, not with {template!r}")
            return machine.render(place, env, context)
        return machine.source(place, env)
    except FileNotFoundError:
        raise StateFailed(f"Unable to cache script {path} from saltenv '{saltenv}'") from None


def run_script(machine: Machine, data: bytes, args: str, cwd: str | None, owner: str | None, run: Runner) -> Completed:
    """Write it, run it with its arguments, remove it."""
    if cwd is not None and machine.stat(cwd) is None:
        raise StateFailed(f'Desired working directory "{cwd}" is not available')
    path = posixpath.join(cwd or "/tmp", f".saltern-script-{secrets.token_hex(8)}")  # noqa: S108  (a name not to guess)
    try:
        machine.write(path, data, mode="0500")
        if owner is not None:
            machine.chown(path, owner, None)
        if not data.startswith(b"#!"):
            return run(machine, f"/bin/sh {shlex.quote(path)} {args}".rstrip())
        return run(machine, f"{shlex.quote(path)} {args}".rstrip())
    finally:
        machine.remove(path)
