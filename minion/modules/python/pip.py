"""The execution module `pip`: Python packages of an interpreter or a virtual environment, by the pip of the states."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minion.arguments.types import CommaList, TextPairs
from minion.execution.apply_state import act, changes_of
from minion.execution.arguments import NoTerminal, NoTreeFile, NotSupported
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.states.python.pip import Pip, normal, pip_of


def list_(
    context: Context, prefix: str | None = None, bin_env: str | None = None, user: str | None = None,
    cwd: str | None = None, env_vars: TextPairs | None = None, **more: Any,
) -> dict[str, str]:  # fmt: skip
    """Packages that are installed, with their version; those whose name begins with `prefix`."""
    found = _installed(context, _pip(bin_env, user, cwd, env_vars))
    return {name: version for name, version in found.items() if not prefix or name.startswith(prefix.lower())}


def freeze(
    context: Context,
    bin_env: str | None = None,
    user: str | None = None,
    cwd: str | None = None,
    use_vt: NoTerminal = False,
    env_vars: TextPairs | None = None,
    **more: Any,
) -> list[str]:
    """Packages that are installed, as lines of a requirements file."""
    return _ask(context, _pip(bin_env, user, cwd, env_vars), "freeze").splitlines()


def is_installed(context: Context, pkgname: str, bin_env: str | None = None, user: str | None = None,
                 cwd: str | None = None) -> bool:  # fmt: skip
    """Whether a package is installed."""
    return normal(pkgname) in _installed(context, _pip(bin_env, user, cwd, None))


def version(context: Context, bin_env: str | None = None, cwd: str | None = None, user: str | None = None) -> str:
    """The version of pip."""
    return _ask(context, _pip(bin_env, user, cwd, None), "--version").split()[1]


def normalize(context: Context, name: str) -> str:
    """The name of a package as indexes write it."""
    return normal(name)


def install(
    context: Context,
    pkgs: CommaList = (),
    requirements: str | None = None,
    bin_env: str | None = None,
    *,
    saltenv: NoTreeFile = None,
    use_vt: NoTerminal = None,
    **options: Any,
) -> dict[str, Any]:
    """Install packages, as the state pip.installed does; what changed."""
    given = {"pkgs": list(pkgs)} if pkgs else {"requirements": requirements}
    made = act(context, "pip.installed", pkgs[0] if pkgs else "", bin_env=bin_env, **given, **options)
    return {"retcode": 0, "stdout": made.done if made.changes else made.comment, "stderr": "",
            "changes": dict(changes_of(made))}  # fmt: skip


def uninstall(
    context: Context, pkgs: CommaList = (), requirements: str | None = None, bin_env: str | None = None,
    log: NotSupported = None, proxy: NotSupported = None, timeout: NotSupported = None, user: str | None = None,
    cwd: str | None = None, saltenv: NoTreeFile = None, use_vt: NoTerminal = None, extra_args: NotSupported = None,
) -> dict[str, Any]:  # fmt: skip
    """Remove packages; what changed."""
    listed = list(pkgs)
    if requirements:
        listed += _named_in(context, requirements, cwd)
    if not listed:
        raise CallFailed("name the packages, or a file of requirements that does")
    made = act(context, "pip.removed", listed[0], pkgs=listed, bin_env=bin_env, user=user, cwd=cwd)
    return {"retcode": 0, "stdout": made.done if made.changes else made.comment, "stderr": "",
            "changes": dict(changes_of(made))}  # fmt: skip


def _named_in(context: Context, requirements: str, cwd: str | None) -> list[str]:
    """Names of the packages in a file of requirements."""
    import re

    text = context.machine.read(str(Path(cwd or "/", requirements))).decode()
    names = (re.match(r"[A-Za-z0-9][\w.-]*", line.strip()) for line in text.splitlines())
    return [name[0] for name in names if name]


def list_upgrades(context: Context, bin_env: str | None = None, user: str | None = None,
                  cwd: str | None = None) -> dict[str, str]:  # fmt: skip
    """Packages of which an index has a newer version, with that version."""
    said = _ask(context, _pip(bin_env, user, cwd, None), "list", "--outdated", "--format=json")
    return {one["name"]: one["latest_version"] for one in json.loads(said or "[]")}


def upgrade_available(context: Context, pkg: str, bin_env: str | None = None, user: str | None = None,
                      cwd: str | None = None) -> bool:  # fmt: skip
    """Whether an index has a newer version of a package."""
    return normal(pkg) in {normal(name) for name in list_upgrades(context, bin_env, user, cwd)}


def list_all_versions(
    context: Context, pkg: str, bin_env: str | None = None, include_alpha: NotSupported = None,
    include_beta: NotSupported = None, include_rc: NotSupported = None, user: str | None = None,
    cwd: str | None = None, index_url: NotSupported = None, extra_index_url: NotSupported = None,
) -> list[str]:  # fmt: skip
    """The versions of a package that an index has, the oldest first."""
    if pkg.startswith("-"):
        raise CallFailed(f"{pkg!r} is no name of a package")
    said = _ask(context, _pip(bin_env, user, cwd, None), "index", "versions", pkg)
    line = next((one for one in said.splitlines() if one.startswith("Available versions:")), ":")
    return [one.strip() for one in line.partition(":")[2].split(",") if one.strip()][::-1]


def list_freeze_parse(
    context: Context,
    prefix: str | None = None,
    bin_env: str | None = None,
    user: str | None = None,
    cwd: str | None = None,
    env_vars: NotSupported = None,
    **more: Any,
) -> dict[str, str]:
    """Packages that are installed, pip among them, with their version."""
    return list_(context, prefix, bin_env, user, cwd)


def _installed(context: Context, pip: Pip) -> dict[str, str]:
    found = pip.installed(context.machine)
    if found is None:
        raise CallFailed(f"There is no pip at {' '.join(pip.program)}")
    return found


def _ask(context: Context, pip: Pip, *words: str) -> str:
    done = pip.ask(context.machine, *words)
    if done.returncode != 0:
        raise CallFailed(f"{' '.join(pip.program)}: {done.stderr.strip() or 'there is no such pip'}")
    return done.stdout


def _pip(bin_env: str | None, user: str | None, cwd: str | None, env_vars: Mapping[str, str] | None) -> Pip:
    return pip_of(bin_env, user, cwd, env_vars, ())


FUNCTIONS: Mapping[str, Any] = {
    "freeze": freeze,
    "install": install,
    "is_installed": is_installed,
    "list": list_,
    "list_all_versions": list_all_versions,
    "list_freeze_parse": list_freeze_parse,
    "list_upgrades": list_upgrades,
    "normalize": normalize,
    "uninstall": uninstall,
    "upgrade_available": upgrade_available,
    "version": version,
}
