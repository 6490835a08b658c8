"""The state module `npm`: packages of Node.js, of a folder or of the whole machine, and npm's cache.

Behaviour: doc/ref/states/all/salt.states.npm. Only what lacks is installed; what a range, a tag, a path or an address
stands for is asked of npm itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from minion.arguments.types import Ignored, ListOfTexts, TextPairs, Unsupported, Value
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers.npm import checked, npm_of


def installed(
    machine: Reader,
    name: str,
    *,
    pkgs: ListOfTexts | None = None,
    dir: str | None = None,  # noqa: A002  (Salt's name)
    user: str | None = None,
    force_reinstall: Annotated[Value, Unsupported("it would act on each run: name a version")] = None,
    registry: str | None = None,
    env: TextPairs | None = None,
) -> Plan:
    """Packages are there: `left-pad`, `left-pad@1.3.0`, `@scope/name@^2`, a tag, a path, an address of git."""
    npm, wanted = npm_of(dir, user, env, registry), pkgs or (name,)
    try:
        there = {package: str(one["version"]) for package, one in npm.listed(machine, depth=0).items()}
        lacking = npm.missing(machine, wanted, there)
    except StateFailed as error:
        raise StateFailed(f"Error looking up '{name}': {error}") from error
    if not lacking:
        return Plan(comment=f"Package(s) '{', '.join(wanted)}' satisfied by {', '.join(_have(there, wanted))}")

    def act(machine: Machine) -> None:
        try:
            npm.install(machine, lacking)
        except StateFailed as error:
            raise StateFailed(f"Error installing '{', '.join(wanted)}': {error}") from error

    return Plan(
        changes=(
            Change(key="old", reported=[], act=act),
            Change(key="new", reported=lacking, act=lambda machine: None),
        ),
        pending=f"NPM package(s) '{', '.join(lacking)}' are set to be installed",
        done=f"Package(s) '{', '.join(lacking)}' successfully installed",
    )


def removed(machine: Reader, name: str, *, dir: str | None = None, user: str | None = None) -> Plan:  # noqa: A002
    """The package is not there."""
    npm = npm_of(dir, user)
    try:
        there = checked(name) in npm.listed(machine, depth=0)
    except StateFailed as error:
        raise StateFailed(f"Error uninstalling '{name}': {error}") from error
    if not there:
        return Plan(comment=f"Package '{name}' is not installed")

    def act(machine: Machine) -> None:
        npm.uninstall(machine, name)

    return Plan(
        changes=(Change(key=name, reported="Removed", act=act),),
        pending=f"Package '{name}' is set to be removed",
        done=f"Package '{name}' was successfully removed",
    )


def bootstrap(
    machine: Reader,
    name: str,
    *,
    user: str | None = None,
    silent: Annotated[Value, Ignored("what npm tells is read either way")] = True,
) -> Plan:
    """A folder has all that its package.json and its lock name."""
    npm = npm_of(name, user)
    try:
        lacking = npm.todo(machine)
    except StateFailed as error:
        raise StateFailed(f"Error Bootstrapping '{name}': {error}") from error
    if not lacking:
        return Plan(comment="Directory is already bootstrapped")

    def act(machine: Machine) -> None:
        try:
            npm.install(machine, ())
        except StateFailed as error:
            raise StateFailed(f"Error Bootstrapping '{name}': {error}") from error

    return Plan(
        changes=(Change(key=name, reported="Bootstrapped", act=act),),
        pending=f"{name} is set to be bootstrapped",
        done="Directory was successfully bootstrapped",
    )


def cache_cleaned(machine: Reader, name: str, *, user: str | None = None, force: bool = False) -> Plan:
    """npm's cache has nothing of a package; with an empty name nothing at all, which needs `force`."""
    npm = npm_of(None, user)
    try:
        keys = npm.cached(machine, name)
    except StateFailed as error:
        raise StateFailed(f"Error looking up cached {name or 'packages'}: {error}") from error
    if not keys:
        return Plan(comment=f"Package {name} is not in the cache" if name else "Nothing is in the cache")
    if not name and not force:
        raise StateFailed("Error cleaning cached packages: npm cleans its whole cache with `force: True` alone")

    def act(machine: Machine) -> None:
        npm.clean(machine, keys if name else (), force=force)

    return Plan(
        changes=(Change(key=name or "cache", reported="Removed", act=act),),
        pending=f"Cached {name or 'packages'} set to be removed",
        done=f"Cached {name or 'packages'} successfully removed",
    )


def _have(there: Mapping[str, str], wanted: Sequence[str]) -> list[str]:
    """The packages of these names, with their versions; those of another kind as they are given."""
    names = [spec if spec in there else spec.rpartition("@")[0] for spec in wanted]
    return [f"{name}@{there[name]}" if name in there else spec for name, spec in zip(names, wanted, strict=True)]


STATES: Mapping[str, StateFunction] = {
    "bootstrap": bootstrap,
    "cache_cleaned": cache_cleaned,
    "installed": installed,
    "removed": removed,
}
