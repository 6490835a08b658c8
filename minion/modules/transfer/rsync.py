"""The execution module `rsync`: files that are copied between folders and machines.

Behaviour: doc/ref/modules/all/salt.modules.rsync.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.arguments.types import ListOfTexts, Texts
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.providers.rsync import RsyncOptions, command


def rsync(
    context: Context, src: str, dst: str, delete: bool = False, force: bool = False, update: bool = False,
    passwordfile: str | None = None, exclude: Texts = (), excludefrom: str | None = None, dryrun: bool = False,
    rsh: str | None = None, additional_opts: ListOfTexts = (),
) -> dict[str, Any]:  # fmt: skip
    """Copy files: `retcode`, `stdout` and `stderr` of rsync."""
    options = RsyncOptions(delete, force, update, passwordfile, exclude, excludefrom, additional_opts)
    more = [*([f"--rsh={rsh}"] if rsh else []), *(["--dry-run"] if dryrun else [])]
    done = context.machine.run(command(src, dst, options, *more))
    context.retcode = done.returncode
    return {"pid": done.pid, "retcode": done.returncode, "stderr": done.stderr, "stdout": done.stdout}


def version(context: Context) -> str:
    """The version of rsync."""
    words = context.machine.query(["rsync", "--version"]).stdout.split()
    if len(words) < 3:
        raise CallFailed("rsync is not there: install it (Debian: rsync)")
    return words[2]


def config(context: Context, conf_path: str = "/etc/rsyncd.conf") -> str:
    """The configuration file of rsync's server."""
    return context.machine.read(conf_path).decode(errors="replace")


FUNCTIONS: Mapping[str, Any] = {"config": config, "rsync": rsync, "version": version}
