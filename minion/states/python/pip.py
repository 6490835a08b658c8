"""The state module `pip`: Python packages of an interpreter or a virtual environment.

Behaviour: doc/ref/states/all/salt.states.pip_state. What would be installed is asked of pip itself
(`pip install --dry-run --report`, pip 22.2 and newer), so that a version that does not fit is seen under test too.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, TypedDict, Unpack

from minion.arguments.types import Ignored, ListOfTexts, Reads, Seconds, TextPairs, Texts, Unsupported, as_list
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Completed, Machine, Plan, Reader, StateFunction, Value
from minion.states.unused_arguments import OldOption, UseTheFile

_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(\[[^\]]*\])?\s*(.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pip:
    """A pip, and what it is run with."""

    program: tuple[str, ...]
    user: str | None
    cwd: str | None
    env: Mapping[str, str]
    options: tuple[str, ...] = ()
    """Of `pip install`."""

    def ask(self, machine: Reader, *words: str) -> Completed:
        """A command that changes nothing."""
        return machine.query([*self.program, *words], env=self.env)

    def do(self, machine: Machine, *words: str) -> None:
        """A command; StateFailed with what pip says when it fails."""
        done = machine.run([*self.program, *words], env=self.env, runas=self.user, cwd=self.cwd)
        if done.returncode != 0:
            raise StateFailed(f"Failed to run pip: {done.stderr.strip() or done.stdout.strip()}")

    def installed(self, machine: Reader) -> dict[str, str] | None:
        """Name → version of what is there; None when there is no such pip (yet)."""
        asked = self.ask(machine, "list", "--format=json")
        if asked.returncode == 127:
            return None
        if asked.returncode != 0:
            raise StateFailed(f"The packages cannot be listed: {asked.stderr.strip()}")
        return {normal(one["name"]): one["version"] for one in json.loads(asked.stdout or "[]")}

    def predict(self, machine: Reader, wanted: Sequence[str]) -> dict[str, str]:
        """Name → version of what pip would install."""
        asked = self.ask(machine, "install", "--quiet", "--dry-run", "--report", "-", *self.options, *wanted)
        if asked.returncode != 0:
            raise StateFailed(f"pip cannot install {' '.join(wanted)}: {asked.stderr.strip()}")
        report = json.loads(asked.stdout[asked.stdout.index("{") :])
        return {normal(one["metadata"]["name"]): one["metadata"]["version"] for one in report["install"]}


def as_extra_arguments(value: Value) -> tuple[str, ...]:
    """Options of pip: texts, and mappings of options to values."""
    words: list[str] = []
    for one in as_list(value or None):
        words += [f"{key}={given}" for key, given in one.items()] if isinstance(one, Mapping) else [str(one)]
    return tuple(words)


ExtraArguments = Annotated[tuple[str, ...], Reads(as_extra_arguments, null=True)]


class _InstalledUnused(TypedDict, total=False):
    """Arguments of Salt's pip.installed that are ignored or refused."""

    use_wheel: OldOption
    no_use_wheel: OldOption
    log: OldOption
    mirrors: OldOption
    build: OldOption
    download_cache: OldOption
    allow_all_external: OldOption
    allow_external: OldOption
    allow_unverified: OldOption
    process_dependency_links: OldOption
    use_vt: OldOption
    no_install: OldOption
    no_download: OldOption
    cache_dir: Annotated[Value, Ignored("pip's own cache is used")]
    repo: UseTheFile
    target: UseTheFile
    download: UseTheFile
    source: UseTheFile
    install_options: UseTheFile
    global_options: UseTheFile


def installed(
    machine: Reader,
    name: str,
    *,
    pkgs: ListOfTexts | None = None,
    pip_bin: str | None = None,
    requirements: Texts = (),
    bin_env: str | None = None,
    user: str | None = None,
    cwd: str | None = None,
    env_vars: TextPairs | None = None,
    editable: Texts = (),
    upgrade: bool = False,
    force_reinstall: bool = False,
    ignore_installed: bool = False,
    no_deps: bool = False,
    pre_releases: bool = False,
    no_index: bool = False,
    no_cache_dir: bool = False,
    index_url: str | None = None,
    extra_index_url: str | None = None,
    find_links: str | None = None,
    trusted_host: str | None = None,
    proxy: str | None = None,
    timeout: Seconds | None = None,
    cert: str | None = None,
    exists_action: str | None = None,
    no_binary: str | None = None,
    extra_args: ExtraArguments = (),
    **_: Unpack[_InstalledUnused],
) -> Plan:
    """Packages are there, at versions that fit. With `requirements` or `editable`, what those name."""
    flags = {
        "--upgrade": upgrade, "--no-deps": no_deps, "--pre": pre_releases, "--no-index": no_index,
        "--no-cache-dir": no_cache_dir, "--index-url": index_url, "--extra-index-url": extra_index_url,
        "--find-links": find_links, "--trusted-host": trusted_host, "--proxy": proxy, "--timeout": timeout,
        "--cert": cert, "--exists-action": exists_action, "--no-binary": no_binary,
    }  # fmt: skip
    if exists_action is not None and exists_action not in ("s", "i", "w", "b"):
        raise StateFailed(
            f"The exists_action pip option only supports the values s, i, w, and b, not {exists_action!r}"
        )
    if force_reinstall or ignore_installed:
        raise StateFailed("force_reinstall and ignore_installed would act on every run: remove the package, or pin it")
    pip = pip_of(bin_env or pip_bin, user, cwd, env_vars, [*_options(flags), *extra_args])
    if requirements or editable:
        return _from_files(machine, pip, requirements, editable)
    wanted = _wanted(name, pkgs)
    have = pip.installed(machine)
    if have is None:
        return _installing(pip, wanted, {f"{_name(one)}==???": "Installed" for one in wanted}, wanted)
    missing = [one for one in wanted if upgrade or not _is_there(one, have)]
    predicted = pip.predict(machine, missing) if missing else {}
    fresh = [one for one in missing if normal(_name(one)) in predicted]
    if not fresh:
        return Plan(comment="\n".join(_already(one, have, pkgs) for one in wanted))
    shown = {f"{_name(one)}=={predicted[normal(_name(one))]}": "Installed" for one in fresh}
    return _installing(pip, wanted, shown, fresh)


class _RemovedUnused(TypedDict, total=False):
    """Arguments of Salt's pip.removed that are ignored or refused."""

    log: Annotated[Value, Ignored("removing a package reads no network and prints nothing")]
    use_vt: Annotated[Value, Ignored("removing a package reads no network and prints nothing")]
    timeout: Annotated[Value, Ignored("removing a package reads no network and prints nothing")]
    proxy: Annotated[Value, Ignored("removing a package reads no network and prints nothing")]
    requirements: Annotated[Value, Unsupported("name the packages")]


def removed(
    machine: Reader,
    name: str,
    *,
    bin_env: str | None = None,
    user: str | None = None,
    cwd: str | None = None,
    pkgs: ListOfTexts | None = None,
    env_vars: TextPairs | None = None,
    **_: Unpack[_RemovedUnused],
) -> Plan:
    """Packages are not there."""
    pip = pip_of(bin_env, user, cwd, env_vars, [])
    have = pip.installed(machine) or {}
    there = [_name(one) for one in _wanted(name, pkgs) if normal(_name(one)) in have]
    if not there:
        return Plan(comment="Package is not installed.")
    return Plan(
        changes=(
            Change(
                key=";".join(there),
                reported="Removed",
                act=lambda machine: pip.do(machine, "uninstall", "--yes", *there),
            ),
        ),
        pending=f"Package {', '.join(there)} is set to be removed",
        done="Package was successfully removed.",
    )


def pip_of(
    bin_env: str | None,
    user: str | None,
    cwd: str | None,
    env_vars: Mapping[str, str] | None,
    options: Sequence[str],
) -> Pip:
    """The pip that `bin_env` means: a virtual environment, a pip, or that of python3."""
    program: tuple[str, ...] = ("python3", "-m", "pip")
    if bin_env:
        is_pip = posixpath.basename(bin_env).startswith("pip")
        program = (bin_env,) if is_pip else (posixpath.join(bin_env, "bin/python"), "-m", "pip")
    env = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PIP_ROOT_USER_ACTION": "ignore"}
    return Pip(
        program=program,
        user=user,
        cwd=cwd,
        env={**env, **(env_vars or {})},
        options=tuple(options),
    )


def normal(name: str) -> str:
    """A package's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _from_files(machine: Reader, pip: Pip, requirements: Sequence[str], editable: Sequence[str]) -> Plan:
    words: list[str] = []
    for option, value in (("--requirement", requirements), ("--editable", editable)):
        for one in value:
            if one.startswith("salt://"):
                raise StateFailed(f"{one}: put the file on the machine with file.managed, and name its path")
            words += [option, one]
    fresh = {} if pip.installed(machine) is None else pip.predict(machine, words)
    if not fresh and pip.installed(machine) is not None:
        return Plan(comment="Requirements were already installed.")
    key = "requirements" if requirements else "editable"
    what = ", ".join(requirements or editable)
    return Plan(
        changes=(Change(key=key, reported=True, act=_install(pip, words)),),
        pending=f"Requirements file '{what}' will be processed.",
        done=f"Successfully processed requirements file {what}.",
    )


def _installing(pip: Pip, wanted: Sequence[str], shown: Mapping[str, str], fresh: Sequence[str]) -> Plan:
    first, *rest = shown
    install = Change(key=first, reported="Installed", act=_install(pip, fresh))
    others = (Change(key=one, reported="Installed", act=_nothing) for one in rest)
    would = f"Python package(s) set to be installed:\n{chr(10).join(fresh)}"
    if len(fresh) == 1:
        would = f"Python package {fresh[0]} is set to be installed"
    return Plan(
        changes=(install, *others),
        pending=would,
        done="All packages were successfully installed",
    )


def _install(pip: Pip, words: Sequence[str]) -> Callable[[Machine], None]:
    return lambda machine: pip.do(machine, "install", *pip.options, *words)


def _wanted(name: str, pkgs: Sequence[str] | None) -> list[str]:
    wanted = [one.strip() for one in (pkgs or [name])]
    for one in wanted:
        if one.startswith("-") or not _NAME.fullmatch(one.partition("@")[0].partition(";")[0]):
            raise StateFailed(f"{one!r} is no requirement of pip")
    return wanted


def _name(requirement: str) -> str:
    found = _NAME.match(requirement)
    return found[1] if found else requirement


def _is_there(requirement: str, have: Mapping[str, str]) -> bool:
    found = _NAME.match(requirement)
    version = have.get(normal(_name(requirement)))
    if version is None or found is None:
        return False
    rest = found[3].strip()
    return not rest or rest == f"=={version}"


def _already(requirement: str, have: Mapping[str, str], pkgs: Sequence[str] | None) -> str:
    if pkgs is not None and len(pkgs) > 1:
        return f"Python package {requirement} was already installed"
    return f"Python package {requirement} was already installed\nAll specified packages are already installed"


def _options(flags: Mapping[str, Value]) -> list[str]:
    words = []
    for option, value in flags.items():
        if value is True:
            words.append(option)
        elif value not in (None, False):
            words += [option, str(value)]
    return words


def _nothing(machine: Machine) -> None:
    """Installed by its neighbour."""


STATES: Mapping[str, StateFunction] = {"installed": installed, "removed": removed}
