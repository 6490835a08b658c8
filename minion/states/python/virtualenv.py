"""The state module `virtualenv`: virtual environments of Python.

Behaviour: doc/ref/states/all/salt.states.virtualenv_mod. Made by `python -m venv`, or by `venv_bin` where one is named.
"""

from __future__ import annotations

import functools
import posixpath
from collections.abc import Mapping
from typing import TypedDict, Unpack

from minion.arguments.types import ListOfTexts, TextPairs, Texts
from minion.machine.existence import exists
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.states.file.paths import checked
from minion.states.python import pip
from minion.states.unused_arguments import OldOption, UseTheFile


class _ManagedUnused(TypedDict, total=False):
    """Arguments of Salt's virtualenv.manage that are ignored or refused."""

    distribute: OldOption
    use_wheel: OldOption
    no_use_wheel: OldOption
    never_download: OldOption
    pip_download_cache: OldOption
    process_dependency_links: OldOption
    use_vt: OldOption
    pip_cache_dir: OldOption
    extra_search_dir: UseTheFile
    prompt: UseTheFile
    pre_releases: UseTheFile
    pip_download: UseTheFile
    pip_exists_action: UseTheFile
    pip_ignore_installed: UseTheFile
    no_binary: UseTheFile


def managed(
    machine: Reader,
    name: str,
    *,
    venv_bin: str | None = None,
    requirements: Texts = (),
    system_site_packages: bool = False,
    clear: bool = False,
    python: str | None = None,
    user: str | None = None,
    cwd: str | None = None,
    index_url: str | None = None,
    extra_index_url: str | None = None,
    pip_pkgs: ListOfTexts | None = None,
    pip_upgrade: bool = False,
    pip_no_cache_dir: bool = False,
    no_deps: bool = False,
    proxy: str | None = None,
    env_vars: TextPairs | None = None,
    **_: Unpack[_ManagedUnused],
) -> Plan:
    """The environment is there, with what `requirements` and `pip_pkgs` name in it."""
    path = checked(name, "managed")
    if clear:
        raise StateFailed("clear would empty the environment on every run: remove it by file.absent instead")
    interpreter = posixpath.join(path, "bin/python")
    there = exists(machine, interpreter)
    install = functools.partial(
        pip.installed, machine, path, index_url=index_url, extra_index_url=extra_index_url, no_deps=no_deps,
        proxy=proxy, upgrade=pip_upgrade, no_cache_dir=pip_no_cache_dir, env_vars=env_vars, user=user, cwd=cwd,
        bin_env=path,
    )  # fmt: skip
    plans = [install(requirements=requirements)] if requirements else []
    plans += [install(pkgs=pip_pkgs)] if pip_pkgs else []
    inner = tuple(change for plan in plans for change in plan.changes)
    if there:
        return Plan(
            changes=inner,
            comment="virtualenv exists",
            pending=f"Virtualenv {name} is set to be updated",
            done="Updated existing virtualenv",
        )
    tool = [venv_bin] if venv_bin and "pyvenv" not in venv_bin else [python or "python3", "-m", "venv"]
    if tool[-1] != "venv" and python:
        tool += ["--python", python]
    argv = [*tool, *(["--system-site-packages"] if system_site_packages else []), path]

    def make(machine: Machine) -> None:
        done = machine.run(argv, runas=user)
        if done.returncode != 0:
            raise StateFailed(f"The virtualenv could not be created: {done.stderr.strip() or done.stdout.strip()}")

    return Plan(
        changes=(Change(key="new", reported=name, act=make), *inner),
        pending=f"Virtualenv {name} is set to be created",
        done="Created new virtualenv",
    )


STATES: Mapping[str, StateFunction] = {"managed": managed, "manage": managed}
