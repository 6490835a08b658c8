"""Where a commit names other repositories: its gitlinks, with the addresses that `.gitmodules` has for them.

Called by `gitfs.mirror.submodules`. Pure reading of what somebody wrote into a repository: every address is checked,
none is opened, and git's own reader is not used, as it would follow `include`s to files of this machine. Follows
gitmodules(5).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import pygit2
from pygit2.enums import FileMode

from gitfs.config import refspecs
from gitfs.config.live_policy import LivePolicy
from gitfs.config.settings import RemoteSettings
from gitfs.config.submodule_hosts import host_fault
from gitfs.config.urls import parse_url, same_server
from gitfs.errors import BadRemoteSettings, BadTree
from gitfs.printable import printable

_LARGEST_FILE = 256 * 1024
_SECTION = re.compile(r'\s*\[\s*submodule\s+"((?:[^"\\]|\\.)*)"\s*\]\s*\Z', re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_COMMENT = re.compile(r"\s[#;]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gitlink:
    """A commit of another repository, shown as a folder."""

    path: str
    commit: str
    settings: RemoteSettings
    """How the other repository is fetched."""


def gitlinks(repository: pygit2.Repository, commit: str, parent: RemoteSettings, most: int) -> tuple[Gitlink, ...]:
    """The submodules of a commit; BadTree for one that may not be fetched, and for more than `most`.

    A gitlink without an address is left out.
    """
    tree = repository[commit].peel(pygit2.Commit).tree
    if ".gitmodules" not in tree:
        return ()
    file = tree[".gitmodules"]
    if not isinstance(file, pygit2.Blob) or file.size > _LARGEST_FILE:
        raise BadTree(".gitmodules is no file, or too large to be one")
    written = parse_gitmodules(file.data.decode(errors="replace")).items()
    found = [(path, url, oid) for path, url in written if (oid := _gitlink_at(tree, path)) is not None]
    if len(found) > most:
        raise BadTree(f"more than {most} submodules", "submodules")
    return tuple(Gitlink(path=path, commit=oid, settings=_settings_of(path, url, parent)) for path, url, oid in found)


def parse_gitmodules(text: str) -> Mapping[str, str]:
    """Path -> address, as written."""
    sections: list[dict[str, str]] = [{}]
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if line.lstrip().startswith("["):
            # What stands in a section of another kind is kept nowhere.
            sections.append({})
            if not _SECTION.match(line):
                sections[-1]["other"] = ""
        elif equals and _NAME.fullmatch(name.strip()):
            sections[-1][name.strip().lower()] = _unquoted(value.strip())
    whole = (each for each in sections if each.get("path") and each.get("url") and "other" not in each)
    return {each["path"].strip("/"): each["url"] for each in whole}


def _unquoted(value: str) -> str:
    if match := re.match(r'"((?:[^"\\]|\\.)*)"', value):
        return re.sub(r"\\(.)", r"\1", match[1])
    comment = _COMMENT.search(value)
    return value[: comment.start()].rstrip() if comment else value


def _gitlink_at(tree: pygit2.Tree, path: str) -> str | None:
    if not path or any(part in ("", ".", "..") for part in path.split("/")) or "\0" in path:
        return None
    try:
        entry = tree[path]
    except (KeyError, ValueError):
        return None
    return str(entry.id) if entry.filemode == FileMode.COMMIT else None


def _settings_of(path: str, url: str, parent: RemoteSettings) -> RemoteSettings:
    """As the parent, with its credentials only where they go to the same server."""
    where = f"submodule {path!r}"
    try:
        address = parse_url(_resolved(url, parent.url), where)
    except BadRemoteSettings as error:
        raise BadTree(str(error)) from None
    if address.scheme == "file" and parse_url(parent.url, where).scheme != "file":
        raise BadTree(f"{where}: {url!r} lies on this machine, which a remote elsewhere may not name")
    if fault := host_fault(address.url, parent.url, parent.submodule_hosts):
        raise BadTree(f"{where}: {fault}")
    known = parent
    if not same_server(parent.url, address.url):
        known = replace(
            parent,
            user="",
            password="",
            token="",
            privkey="",
            pubkey="",
            passphrase="",
            ssl_cert="",
            ssl_key="",
            insecure_auth=False,
        )
    return replace(
        known,
        name=printable(f"{parent.name}/{path}"),
        url=address.url,
        policy=LivePolicy(allow_rewind=True),
        refspecs=refspecs.DEFAULT,
        pull_requests=False,
    )


def _resolved(url: str, parent: str) -> str:
    """`./x` and `../x` begin at the parent's address, as git-submodule(1) has it."""
    if not url.startswith(("./", "../")):
        return url
    if "://" in parent:
        parts = urlsplit(parent)
        return parts._replace(path=posixpath.normpath(posixpath.join(parts.path, url))).geturl()
    host, colon, path = ("", "", parent) if parent.startswith("/") else parent.partition(":")
    return host + colon + posixpath.normpath(posixpath.join(path, url))
