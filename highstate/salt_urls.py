"""`salt://` URLs, read as Salt reads them, wherever somebody writes one: in SLS, in templates, to functions and states.

Pure. Follows `salt.utils.url`: names of files may hold `?` and `&`, so that only `?saltenv=` ends a path; a `|` before
the path is how Salt marks such names, and is no part of it.
"""

from __future__ import annotations


def split_salt_url(url: str, saltenv: str) -> tuple[str, str]:
    """Path and saltenv of `salt://path?saltenv=x`, or of the bare path; `saltenv` is that of a URL that names none."""
    path = url.removeprefix("salt://")
    if "?env=" in path:  # an old word for it, which Salt takes away and does not heed
        path, named = path.partition("?env=")[0], ""
    else:
        path, _, named = path.partition("?saltenv=")
    return plain_path(path.strip("/").lstrip("|").strip("/")), named or saltenv


def plain_path(path: str) -> str:
    """The same path without empty parts and `.`: Salt's `roots` looks a file up as the system would."""
    if "//" not in path and "./" not in path:
        return path
    return "/".join(part for part in path.split("/") if part not in ("", "."))
