"""The execution module `composer`: dependencies of projects of PHP.

Behaviour: doc/ref/modules/all/salt.modules.composer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.machine.plan import Completed
from minion.providers.composer import ComposerOptions, carry_out


def did_composer_install(context: Context, dir: str) -> bool:  # noqa: A002  (Salt's name)
    """Whether a project has its folder `vendor`."""
    return context.machine.stat(f"{dir}/vendor") is not None


def install(
    context: Context, directory: str, *, runas: str | None = None, quiet: bool = False, options: ComposerOptions
) -> Any:
    """Install what a project's composer.lock names; what composer says, or with `quiet` true."""
    return _told(carry_out(context.machine, "install", directory, runas, options), quiet)


def update(
    context: Context, directory: str, *, runas: str | None = None, quiet: bool = False, options: ComposerOptions
) -> Any:
    """Install the newest that a project's composer.json allows; what composer says, or with `quiet` true."""
    return _told(carry_out(context.machine, "update", directory, runas, options), quiet)


def selfupdate(
    context: Context, composer: str | None = None, php: str | None = None, runas: str | None = None,
    quiet: bool = False, composer_home: str = "/root",
) -> Any:  # fmt: skip
    """Have composer replace itself by its newest version; what it says, or with `quiet` true."""
    program = ComposerOptions(composer=composer, php=php, composer_home=composer_home).program(runas)
    done = program.tell(context.machine, "selfupdate", "--no-interaction", "--no-ansi")
    if done.returncode != 0:
        raise CallFailed(done.stderr.strip())
    return _told(done, quiet)


def _told(done: Completed, quiet: bool) -> Any:
    if quiet:
        return True
    return {"pid": done.pid, "retcode": done.returncode, "stderr": done.stderr, "stdout": done.stdout}


FUNCTIONS: Mapping[str, Any] = {
    "did_composer_install": did_composer_install,
    "install": install,
    "selfupdate": selfupdate,
    "update": update,
}
