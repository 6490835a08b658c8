"""Commands on the machine, with an end to each: a time, a size, and no children that hold the minion up.

Called by `LocalMachine.run`. Output goes to files without a name, not to pipes: a daemon that a command leaves behind
keeps the pipe open, and its reader would wait for ever.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from typing import IO, Any

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed

OUTPUT_LIMIT = 4 * 1024 * 1024
"""Bytes of stdout, and of stderr, that are kept."""

_LOCALE = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "LANGUAGE": ""}
"""So that what is parsed does not depend on where the minion was started (Salt's reset_system_locale)."""


def default_shell() -> str:
    """The shell of who started this process, /bin/sh without one: the grain `shell`."""
    return os.environ.get("SHELL") or "/bin/sh"


def run(
    argv: Sequence[str] | str,
    *,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    runas: str | None = None,
    timeout: float | None = None,
    stdin: str | None = None,
    shell: str | None = None,
) -> Completed:
    """Run to the end or for `timeout` seconds. A program that is not there gives 127, one cut off by time 1.

    A text goes through `shell`, without one through that of this process (Salt's DEFAULT_SHELL).
    Without `cwd` it runs in the home of who runs it, as Salt has it.
    """
    if cwd is not None and not os.path.isdir(cwd):  # noqa: PTH112
        raise StateFailed(f'Desired working directory "{cwd}" is not available')
    environment, identity = dict(os.environ) | _LOCALE, dict[str, Any]()
    if runas is not None:
        identity = identity_of(runas, environment)
    environment |= {str(key): str(value) for key, value in (env or {}).items()}
    command = [shell or default_shell(), "-c", argv] if isinstance(argv, str) else [str(one) for one in argv]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            process = subprocess.Popen(
                command,
                cwd=cwd or _home(runas),
                env=environment,
                stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                **identity,
            )
        except FileNotFoundError:
            return Completed(returncode=127, stdout="", stderr=f"{command[0]}: not found")
        except PermissionError as error:
            if runas is not None:
                raise StateFailed(_not_permitted(runas, error)) from error
            return Completed(returncode=126, stdout="", stderr=f"{command[0]}: {error.strerror}")
        code = _wait(process, stdin, timeout)
        if code is None:
            said = " ".join(command[2:] if isinstance(argv, str) else command)
            text = f"{said} : Timed out after {timeout:g} seconds"
            return Completed(returncode=1, stdout=text, stderr=_read(err), pid=process.pid, timed_out=True)
        return Completed(returncode=code, stdout=_read(out), stderr=_read(err), pid=process.pid)


def _wait(process: subprocess.Popen[bytes], stdin: str | None, timeout: float | None) -> int | None:
    """The exit code; None when time ran out, and then the whole process group is gone."""
    try:
        with contextlib.suppress(BrokenPipeError):
            process.communicate(stdin.encode() if stdin is not None else None, timeout=timeout)
        return process.wait()
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None


def _not_permitted(runas: str, error: PermissionError) -> str:
    if os.geteuid() != 0:
        return f"The minion may not run commands as {runas}: it does not run as root"
    return f"{runas} may not execute {error.filename}: {error.strerror}"


def _home(runas: str | None) -> str:
    """Of who runs a command; / where there is none."""
    home = os.path.expanduser(f"~{runas or ''}")  # noqa: PTH111  (Path.expanduser raises where there is none)
    return home if os.path.isdir(home) and os.access(home, os.R_OK) else "/"  # noqa: PTH112


def identity_of(runas: str, environment: dict[str, str]) -> dict[str, Any]:
    """Popen's arguments for running as somebody else; the environment gets that user's home and names."""
    import pwd

    try:
        entry = pwd.getpwnam(runas)
    except KeyError:
        raise StateFailed(f"User '{runas}' is not available") from None
    environment |= {
        "HOME": entry.pw_dir,
        "USER": runas,
        "LOGNAME": runas,
        "SHELL": entry.pw_shell or "/bin/sh",
    }
    if entry.pw_uid == os.geteuid():
        return {}
    groups = os.getgrouplist(runas, entry.pw_gid)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": groups}


def _read(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    text = file.read(OUTPUT_LIMIT).decode("utf-8", "replace")
    return text if size <= OUTPUT_LIMIT else f"{text}\n[{size - OUTPUT_LIMIT} more bytes are not kept]"
