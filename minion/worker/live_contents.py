"""Which contents of the machine a preview may show: those that the live document determines.

The branch of a preview names any path it likes. A content is read only where a live state determines all of it, and
where the live runs show it too. States that edit a part of a file (file.replace, ini.options) do not count: with
another pattern they would show other lines. Whether a content matches a pattern is not shown either, since a branch
with many patterns would learn the content from that.

Made by `minion.worker.executor`, asked by `minion.worker.preview_sandbox`.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from highstate.desired import Desired
from highstate.types import Chunk

_PUBLIC = frozenset(
    [
        "/etc/apk/world",
        "/etc/default/locale",
        "/etc/dnf/plugins/versionlock.list",
        "/etc/hostname",
        "/etc/hosts",
        "/etc/locale.gen",
        "/etc/modules-load.d/salt_managed.conf",
        "/etc/pacman.conf",
        "/etc/sysctl.conf",
        "/etc/sysctl.d/99-salt.conf",
        "/etc/timezone",
        "/etc/yum/pluginconf.d/versionlock.list",
        "/etc/zypp/locks",
        "/lib/apk/db/installed",
        "/proc/modules",
        "/proc/self/mountinfo",
        "/proc/swaps",
        "/proc/sys/kernel/hostname",
    ]
)
"""Files that every user of a system may read, and that have no place for a password."""

_PUBLIC_FOLDERS = frozenset(
    [
        "/etc/apt/sources.list.d",
        "/etc/init.d",
        "/etc/rc.d",
        "/etc/rc0.d",
        "/etc/rc1.d",
        "/etc/rc2.d",
        "/etc/rc3.d",
        "/etc/rc4.d",
        "/etc/rc5.d",
        "/etc/rc6.d",
        "/etc/rcS.d",
        "/etc/runlevels",
        "/etc/yum.repos.d",
        "/etc/yum/repos.d",
        "/etc/zypp/repos.d",
        "/usr/local/etc/rc.d",
        "/var/cache/apt/archives",
        "/var/lib/apt/lists",
    ]
)
"""Folders of the system whose names every user may list."""

_SOMETIMES = (
    "onlyif",
    "unless",
    "creates",
    "prereq",
    "onchanges",
    "onchanges_any",
    "onfail",
    "onfail_any",
    "onfail_all",
)
"""Arguments with which a live state may never have run."""

_CONTENTS = ("source", "contents", "contents_pillar", "contents_grains")


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveContents:
    """Paths whose content is shown, each with its symlinks resolved."""

    files: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    """Folders whose names are shown, and those of the folders in them."""

    def shows(self, path: str) -> bool:
        """Whether what the file holds may be shown."""
        return path in _PUBLIC or os.path.realpath(path) in self.files

    def lists(self, path: str) -> bool:
        """Whether the names in the folder may be shown."""
        if path in _PUBLIC_FOLDERS:
            return True
        real = os.path.realpath(path)
        return any(real == folder or real.startswith(folder + "/") for folder in self.folders)


def live_contents(live: Desired) -> LiveContents:
    """What the states of the live document show of the machine."""
    chunks = [chunk for chunk in live.chunks.values() if chunk.state == "file" and _always_shown(chunk.arguments)]
    return LiveContents(
        files=frozenset(path for chunk in chunks for path in _files(chunk, live.files)),
        folders=frozenset(os.path.realpath(chunk.name) for chunk in chunks if _cleans(chunk)),
    )


def _always_shown(arguments: Mapping[str, Any]) -> bool:
    return (
        arguments.get("show_changes", True) is True
        and arguments.get("replace", True) is True
        and not any(arguments.get(one) for one in _SOMETIMES)
    )


def _cleans(chunk: Chunk) -> bool:
    return chunk.fun in ("directory", "recurse") and chunk.arguments.get("clean") is True


def _files(chunk: Chunk, tree: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    arguments = chunk.arguments
    if chunk.fun == "managed" and any(arguments.get(one) is not None for one in _CONTENTS):
        yield _resolved(chunk.name, follow=arguments.get("follow_symlinks", True) is True)
    elif chunk.fun == "serialize" and not arguments.get("merge_if_exists"):
        yield os.path.realpath(chunk.name)
    elif chunk.fun == "recurse":
        folder = os.path.realpath(chunk.name)
        for relative in _below_source(arguments.get("source"), tree.get(chunk.saltenv, {})):
            yield _resolved(posixpath.join(folder, relative), follow=False)


def _resolved(path: str, *, follow: bool) -> str:
    """The path without symlinks; the last part is one itself where the state does not follow it."""
    folder, name = posixpath.split(path)
    return os.path.realpath(path) if follow else posixpath.join(os.path.realpath(folder), name)


def _below_source(source: Any, files: Mapping[str, str]) -> Iterator[str]:
    for url in source if isinstance(source, Sequence) and not isinstance(source, str) else [source]:
        prefix = str(url).removeprefix("salt://").partition("?")[0].strip("/") + "/"
        yield from (path.removeprefix(prefix) for path in files if path.startswith(prefix))
