"""saltutil.*, as far as it is about jobs of the agent: runs and calls that it was asked for and that are not over.

A job is known by its id (`saltern history` has them); what it is about is read from the folder that the agent keeps.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from minion.arguments.types import Reads, Unfit, as_integer
from minion.execution.context import Context
from minion.execution.errors import CallFailed

if TYPE_CHECKING:
    from minion.spool.journal import Request, RunFolder


def running(context: Context) -> list[dict[str, Any]]:
    """The jobs that go on: jid, pid, fun, arg, and whether it is a run that the controller asked for."""
    return list(_jobs(context))


def find_job(context: Context, jid: str) -> dict[str, Any]:
    """The job of this id; empty when it does not go on."""
    return next((one for one in _jobs(context) if jid in (one["jid"], one["run_id"])), {})


def is_running(context: Context, fun: str) -> list[dict[str, Any]]:
    """The jobs of a function, or of those that a glob fits."""
    import fnmatch

    return [one for one in _jobs(context) if fnmatch.fnmatchcase(one["fun"], fun)]


def as_signal(value: Any) -> signal.Signals:
    """A signal by number or name, with or without SIG."""
    try:
        if isinstance(value, str) and not value.isdigit():
            return signal.Signals[value if value.startswith("SIG") else f"SIG{value}"]
        return signal.Signals(as_integer(value))
    except (KeyError, ValueError, Unfit):
        raise Unfit("", "{value!r} is no signal: take a number or a name such as SIGTERM") from None


SignalName = Annotated[signal.Signals, Reads(as_signal)]


def signal_job(context: Context, jid: str, sig: SignalName) -> str:
    """Send a signal to the worker of a job; to the commands of a call too, a run of states sees to its own."""
    import os

    from minion.processes import descendants

    found = find_job(context, jid)
    if not found:
        return ""
    commands = [] if found["run"] else descendants(found["pid"])
    try:
        os.kill(found["pid"], sig)  # first: one whose command has ended would end well
        for pid in commands:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, sig)
    except ProcessLookupError:
        return ""
    except PermissionError as error:
        raise CallFailed(f"the worker of {jid} is another user's") from error
    return f"Signal {int(sig)} sent to job {jid} at pid {found['pid']}"


def kill_job(context: Context, jid: str) -> str:
    """End a job and the commands that it runs, at once and for good. One that waits for its turn is not run."""
    from minion.processes import kill_tree

    found = {} if (waited := _end_waiting(context, jid)) else find_job(context, jid)
    if not found:
        return waited
    _close(context, found)
    kill_tree(found["pid"])
    return f"Signal 9 sent to job {jid} at pid {found['pid']}"


def term_job(context: Context, jid: str) -> str:
    """Have a job end."""
    return signal_job(context, jid, signal.SIGTERM)


def kill_all_jobs(context: Context) -> list[str]:
    """End all jobs but this one, and the commands that they run, at once; those that wait for their turn first."""
    jids = [asked.run_id for _, asked in _waiting(context)] + [one["run_id"] for one in _jobs(context)]
    return [said for jid in jids if (said := kill_job(context, jid))]


def term_all_jobs(context: Context) -> list[str]:
    """Have all jobs but this one end."""
    return [said for one in _jobs(context) if (said := signal_job(context, one["run_id"], signal.SIGTERM))]


def clear_cache(context: Context, days: int = -1) -> bool:
    """Forget the files that `cp` keeps in the cache; with `days` those that are older. What the agent holds stays."""
    import time

    for name in ("files", "extrn_files", "localfiles") if context.cachedir else ():
        top = Path(context.cachedir, name)
        for place in [one for one in top.rglob("*") if one.is_file() or one.is_symlink()]:
            if days < 0 or place.lstat().st_mtime < time.time() - days * 86_400:
                place.unlink()
    return True


def _close(context: Context, found: Mapping[str, Any]) -> None:
    """Leave a result for a job that is about to be killed; without one it would be taken up again."""
    import os

    from minion.spool.journal import RunFolders, error_result

    try:
        os.kill(found["pid"], signal.SIGSTOP)  # it leaves none of its own now
    except ProcessLookupError:
        return
    folder = RunFolders(Path(context.cachedir)).of(found["run_id"])
    if not folder.finished():
        folder.finish(error_result(folder.request(), "the run was ended by saltutil.kill_job", ending="cancelled"))


def _end_waiting(context: Context, jid: str) -> str:
    """Leave a result for a job that has no worker yet; what was said, or nothing when there is no such job."""
    import os

    from minion.machine.file_locks import take_lock
    from minion.spool.journal import error_result

    for folder, asked in _waiting(context):
        if jid not in (asked.run_id, getattr(asked, "job", "")):
            continue
        if (lock := take_lock(folder.lock, wait=False)) is None:  # its worker has begun
            continue
        if not folder.finished():
            folder.finish(error_result(asked, "the job was ended by saltutil.kill_job", ending="cancelled"))
        os.close(lock)
        return f"Job {jid} waited for its turn, and is not run"
    return ""


def _waiting(context: Context) -> Iterator[tuple[RunFolder, Request]]:
    """Jobs that have not begun."""
    from minion.machine.file_locks import lock_holder
    from wire.messages import Call

    for folder, asked in _requests(context):
        if isinstance(asked, Call):
            begun = lock_holder(folder.lock) is not None or (folder.path / "journal").exists()
        else:
            begun = (folder.path / "journal").exists()
        if not begun and not folder.finished():
            yield folder, asked


def _requests(context: Context) -> Iterator[tuple[RunFolder, Request]]:
    """All that the agent was asked for and that is not over, by what it keeps of it."""
    import msgspec

    from minion.spool.journal import RunFolder

    top = Path(context.cachedir, "runs") if context.cachedir else None
    for path in sorted(top.iterdir()) if top and top.is_dir() else ():
        folder = RunFolder(path)
        try:
            yield folder, folder.request()
        except (OSError, msgspec.MsgspecError):
            continue


def _jobs(context: Context) -> Iterator[dict[str, Any]]:
    """Jobs with a worker that is alive, except for the one that asks."""
    import os

    from minion.machine.file_locks import lock_holder
    from wire.messages import Call

    whole = lock_holder(Path(context.cachedir, "run.lock")) if context.cachedir else None
    for folder, asked in _requests(context):
        is_run = not isinstance(asked, Call)
        pid = whole if is_run else lock_holder(folder.lock)
        waits = is_run and not (folder.path / "journal").exists()  # the lock is that of the run before it
        if pid and pid != os.getpid() and not waits and not folder.finished():
            fun = asked.fun if isinstance(asked, Call) else f"state.{getattr(asked, 'kind', 'preview')}"
            arg = list(asked.args) if isinstance(asked, Call) else []
            jid = (asked.job if isinstance(asked, Call) else "") or asked.run_id
            yield {"jid": jid, "run_id": asked.run_id, "pid": pid, "fun": fun, "arg": arg, "run": is_run}


FUNCTIONS: Mapping[str, Any] = {
    "clear_cache": clear_cache,
    "find_job": find_job,
    "is_running": is_running,
    "kill_all_jobs": kill_all_jobs,
    "kill_job": kill_job,
    "running": running,
    "signal_job": signal_job,
    "term_all_jobs": term_all_jobs,
    "term_job": term_job,
}
