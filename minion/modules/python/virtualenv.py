"""The execution module `virtualenv`: virtual environments of Python, made by the code of the states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.execution.apply_state import act
from minion.execution.arguments import NoTerminal, NoTreeFile, NotSupported
from minion.execution.context import Context
from minion.execution.errors import CallFailed


def create(
    context: Context, path: str, venv_bin: str | None = None, system_site_packages: bool = False,
    distribute: NotSupported = None, clear: bool = False, python: str | None = None,
    extra_search_dir: NotSupported = None, never_download: NotSupported = None, prompt: NotSupported = None,
    pip: NotSupported = None, symlinks: NotSupported = None, upgrade: NotSupported = None, user: str | None = None,
    use_vt: NoTerminal = None, saltenv: NoTreeFile = None, **more: Any,
) -> dict[str, Any]:  # fmt: skip
    """Make a virtual environment."""
    made = act(context, "virtualenv.managed", path, venv_bin=venv_bin, system_site_packages=system_site_packages,
               clear=clear, python=python, user=user)  # fmt: skip
    return {"retcode": 0, "stdout": made.done if made.changes else made.comment, "stderr": ""}


def get_site_packages(context: Context, venv: str) -> str:
    """The folder that packages of an environment lie in."""
    return _python(context, venv, "import sysconfig; print(sysconfig.get_path('purelib'))")


def get_distribution_path(context: Context, venv: str, distribution: str) -> str:
    """The folder that a distribution of an environment lies in."""
    if not distribution.replace("-", "").replace("_", "").replace(".", "").isalnum():
        raise CallFailed(f"{distribution!r} is no name of a distribution")
    code = f"import importlib.metadata as m; print(m.distribution({distribution!r}).locate_file(''))"
    return _python(context, venv, code)


def _python(context: Context, venv: str, code: str) -> str:
    program = f"{venv.rstrip('/')}/bin/python"
    if context.machine.stat(program) is None:
        raise CallFailed(f"Path does not appear to be a virtualenv: '{program}'")
    done = context.machine.run([program, "-c", code])
    if done.returncode != 0:
        raise CallFailed(done.stderr.strip().rpartition("\n")[2])
    return done.stdout.strip()


FUNCTIONS: Mapping[str, Any] = {
    "create": create,
    "get_distribution_path": get_distribution_path,
    "get_site_packages": get_site_packages,
}
