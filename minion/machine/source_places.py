"""Where the minion's cache has copies of sources, by their names: Salt's `files` and `extrn_files`.

Used by the functions `cp` and by states that keep a source. Contents by id, which the agent holds for the states of a
document, are elsewhere (`minion.spool.files`), and so is what the web gave (`minion.machine.fetch_cache`).
Layout: `_extrn_path` and `is_cached` of Salt's fileclient.
"""

from __future__ import annotations

import posixpath
import re
import urllib.parse

from highstate.salt_urls import split_salt_url


def source_place(cachedir: str, url: str, saltenv: str) -> str:
    """The path that a copy of `salt://` or of a URL of the web has in the cache; it never lies outside of it.

    The password of a URL, and the colon before its port, are no part of it.
    """
    if url.startswith("salt://"):
        path, env = split_salt_url(url, saltenv)
        return f"{cachedir}/files/{_part(env)}{_inside(path)}"
    parts = urllib.parse.urlsplit(url)
    host = parts.netloc.rpartition("@")[2].replace(":", "")
    path = f"{parts.path}-{parts.query}" if parts.query else parts.path
    return f"{cachedir}/extrn_files/{_part(saltenv)}/{_part(host)}{_inside(path)}"


def _inside(path: str) -> str:
    """The path from the root of a folder, which it cannot lead out of."""
    return posixpath.normpath(f"/{path.lstrip('/')}")


def _part(name: str) -> str:
    """A name as one component of a path."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name).lstrip(".") or "base"
