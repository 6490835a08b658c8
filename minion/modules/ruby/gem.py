"""The execution module `gem`: packages of Ruby, as gem(1) has them.

Behaviour: doc/ref/modules/all/salt.modules.gem.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from minion.arguments.types import NumberOrText, Texts, Unsupported
from minion.execution.context import Context
from minion.providers.gems import GemOptions, Gems, checked, rows, without_password

_OtherRuby = Annotated[Any, Unsupported("name the program gem of that Ruby by gem_bin")]


def install(
    context: Context, gems: Texts, ruby: _OtherRuby = None, gem_bin: str | None = None, runas: str | None = None,
    version: NumberOrText | None = None, rdoc: bool = False, ri: bool = False, pre_releases: bool = False,
    proxy: str | None = None, source: str | None = None,
) -> str:  # fmt: skip
    """Install packages; what gem says. Several stand in a list, or in one text with blanks between them."""
    options = GemOptions(version, rdoc, ri, pre_releases, proxy, source)
    return _gems(gem_bin, runas).install(context.machine, _words(gems), options)


def uninstall(
    context: Context, gems: Texts, ruby: _OtherRuby = None, runas: str | None = None, gem_bin: str | None = None
) -> str:
    """Remove packages, in all versions; what gem says."""
    names = [checked(one) for one in _words(gems)]
    return _gems(gem_bin, runas).tell(context.machine, "uninstall", *names, "-a", "-x")


def update(
    context: Context, gems: Texts, ruby: _OtherRuby = None, runas: str | None = None, gem_bin: str | None = None
) -> str:
    """Install the newest versions of packages; what gem says."""
    return _gems(gem_bin, runas).tell(context.machine, "update", *(checked(one) for one in _words(gems)))


def version(context: Context, ruby: _OtherRuby = None, runas: str | None = None, gem_bin: str | None = None) -> str:
    """The version of gem."""
    return _gems(gem_bin, runas).ask(context.machine, "--version").strip()


def list_(
    context: Context, prefix: str = "", ruby: _OtherRuby = None, runas: str | None = None, gem_bin: str | None = None
) -> dict[str, list[str]]:
    """Packages that are installed, with their versions; those whose name begins with `prefix`."""
    found = _gems(gem_bin, runas).installed(context.machine)
    return {name: versions for name, versions in found.items() if name.startswith(prefix)}


def list_upgrades(
    context: Context, ruby: _OtherRuby = None, runas: str | None = None, gem_bin: str | None = None
) -> dict[str, str]:
    """Packages of which there is a newer version, with that."""
    text = _gems(gem_bin, runas).ask(context.machine, "outdated")
    return {name: versions[0].partition(" < ")[2] for name, versions in rows(text).items()}


def sources_add(
    context: Context, source_uri: str, ruby: _OtherRuby = None, runas: str | None = None, gem_bin: str | None = None
) -> str:
    """Have packages come from a server, too; what gem says."""
    return _gems(gem_bin, runas).tell(context.machine, "sources", "--add", without_password(source_uri))


def sources_remove(
    context: Context, source_uri: str, ruby: _OtherRuby = None, runas: str | None = None, gem_bin: str | None = None
) -> str:
    """Have no packages come from a server any more; what gem says."""
    return _gems(gem_bin, runas).tell(context.machine, "sources", "--remove", without_password(source_uri))


def sources_list(
    context: Context, ruby: _OtherRuby = None, runas: str | None = None, gem_bin: str | None = None
) -> list[str]:
    """Addresses of the servers that packages come from."""
    return _gems(gem_bin, runas).sources(context.machine)


def _gems(gem_bin: str | None, user: str | None) -> Gems:
    return Gems(program=gem_bin or "gem", user=user)


def _words(names: tuple[str, ...]) -> list[str]:
    return [word for one in names for word in re.split(r"\s+", one) if word]


FUNCTIONS: Mapping[str, Any] = {
    "install": install,
    "list": list_,
    "list_upgrades": list_upgrades,
    "sources_add": sources_add,
    "sources_list": sources_list,
    "sources_remove": sources_remove,
    "uninstall": uninstall,
    "update": update,
    "version": version,
}
