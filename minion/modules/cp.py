"""The execution module `cp`: files of the tree and of the web, onto the machine, and files of the machine to the
controller, which keeps them where its `file_recv` says so. The rest is the language's.
"""

from __future__ import annotations

import base64
import fnmatch
import hashlib
import os
import posixpath
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from highstate.salt_urls import split_salt_url
from minion.arguments.sources import as_sources
from minion.arguments.types import CommaList, Mode
from minion.execution.arguments import AlwaysDone, NotSupported
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.machine.fetch_cache import WebCache
from minion.machine.source_places import source_place
from wire.messages import BLOB_CHUNK, PUSHED_NAME, PUSHED_NAMES, PushFile, Refused

RECEIVED_BYTES = 64 * 1024 * 1024
"""Of a file that `saltern cp` sends: larger ones are for trees and web servers."""


def get_file(
    context: Context,
    path: str,
    dest: str,
    saltenv: str = "base",
    makedirs: bool = False,
    template: str | None = None,
    gzip: AlwaysDone = None,
    **variables: Any,
) -> Any:
    """Copy a file of the tree to the machine. Its place; empty without such a file. `template`: of both names."""
    if template:
        path, dest = (_rendered(context, one.encode(), template, saltenv, variables).decode() for one in (path, dest))
    return _copied(context, path, dest, makedirs, _source(context, path, saltenv))


def get_template(
    context: Context, path: str, dest: str, template: str = "jinja", saltenv: str = "base", makedirs: bool = False,
    **variables: Any,
) -> Any:  # fmt: skip
    """Render a file of the tree to the machine. Its place, or nothing when there is none."""
    data = _source(context, path, saltenv)
    made = None if data is None else _rendered(context, data, template, saltenv, variables)
    return _copied(context, path, dest, makedirs, made)


def get_dir(
    context: Context,
    path: str,
    dest: str,
    saltenv: str = "base",
    template: NotSupported = None,
    gzip: AlwaysDone = None,
    **variables: Any,
) -> list[str]:
    """Copy a folder of the tree below a directory of the machine. The places of its files."""
    folder, env = _place(path, saltenv)
    inside = folder if path.endswith("/") else posixpath.dirname(folder)
    done = []
    for name in context.files.list(folder, env):
        data = _source(context, f"salt://{name}", env)
        if data is not None:
            relative = posixpath.relpath(name, inside or ".")
            done.append(str(_put(context, Path(dest, relative), data, True)))
    return done


def get_url(context: Context, path: str, dest: str | None = "", saltenv: str = "base", makedirs: bool = False,
            source_hash: str | None = None) -> Any:  # fmt: skip
    """Copy `salt://`, a path or a URL to the machine; without `dest` to the cache, with null give its text."""
    from minion.states.file.sources import Template, of_source

    if path.startswith("salt://"):
        data = _source(context, path, saltenv)
        if data is None:
            return False
    else:
        url = path if "://" in path else f"file://{path}"
        data = of_source(context.machine, as_sources(url), saltenv, Template(variables={}), source_hash)
    if dest is None:
        return data.decode("utf-8", "replace")
    if dest == "" and path.startswith("file://"):
        return path.removeprefix("file://")
    if dest == "":
        return str(_put(context, Path(_cache(context, path, saltenv)), data, True))
    return _put(context, Path(dest), data, makedirs)


def get_file_str(context: Context, path: str, saltenv: str = "base") -> str:
    """Content of a file of the tree or of this machine as text; empty when there is none."""
    from minion.states.file.digests import content_at

    local = path.startswith(("/", "file://"))
    url = path if local or "://" in path else f"salt://{path}"
    if not url.startswith(("salt://", "/", "file://")):
        raise CallFailed(f"{path} is no file of the tree or of this machine: use cp.get_url or http.query")
    data = content_at(context.machine, url, saltenv, verify_ssl=True)
    return "" if data is None else data.decode(errors="replace")


def hash_file(context: Context, path: str, saltenv: str = "base") -> Any:
    """Digest of a file of the tree or of the machine; empty when there is none."""
    if path.startswith("salt://"):
        data = _source(context, path, saltenv)
    else:
        data = Path(path).read_bytes() if Path(path).is_file() else None
    return "" if data is None else {"hsum": hashlib.sha256(data).hexdigest(), "hash_type": "sha256"}


def stat_file(context: Context, path: str, saltenv: str = "base", octal: bool = True) -> Any:
    """Mode of a file of the tree; null when there is none."""
    name, env = _place(path, saltenv)
    mode = context.files.mode(name, env)
    if mode is None:
        return None
    return f"{mode:04o}" if octal is True else 0o100000 | mode


def cache_file(
    context: Context,
    path: str,
    saltenv: str = "base",
    source_hash: str | None = None,
    verify_ssl: NotSupported = None,
    use_etag: NotSupported = None,
) -> Any:
    """Keep a file of the tree or the web in the cache; its place there, false when there is none."""
    return get_url(context, path, "", saltenv, True, source_hash)


def cache_files(context: Context, paths: CommaList, saltenv: str = "base") -> list[Any]:
    """Keep several files of the tree in the cache; their places."""
    return [cache_file(context, one, saltenv) for one in paths]


def cache_dir(
    context: Context,
    path: str,
    saltenv: str = "base",
    include_empty: NotSupported = None,
    include_pat: NotSupported = None,
    exclude_pat: NotSupported = None,
) -> list[Any]:
    """Keep a folder of the tree in the cache; the places of its files."""
    folder, env = _place(path, saltenv)
    return [cache_file(context, f"salt://{name}", env) for name in context.files.list(folder, env)]


def cache_master(context: Context, saltenv: str = "base") -> list[Any]:
    """Keep the whole tree in the cache; the places of its files."""
    return cache_dir(context, "salt://", saltenv)


def cache_local_file(context: Context, path: str) -> str:
    """Keep a file of the machine in the cache; its place there, empty when there is none."""
    source = Path(path)
    if not source.is_file():
        return ""
    place = Path(_folder(context), "localfiles", str(source.absolute()).lstrip("/"))
    return str(_put(context, place, source.read_bytes(), True))


def cache_dest(context: Context, url: str, saltenv: str = "base") -> str:
    """The place in the cache that a file of the tree or the web would have."""
    return _cache(context, url, saltenv)


def is_cached(context: Context, path: str, saltenv: str = "base") -> str:
    """The place in the cache of a file of the tree, the web or this machine; empty when it is not there."""
    url = path if "://" in path else f"salt://{path.lstrip('/')}"
    cachedir = _folder(context)
    local = str(Path(cachedir, "localfiles", path.lstrip("/")))
    places = (_cache(context, url, saltenv), local, str(WebCache(Path(cachedir, "web")).place(url)))
    return next((place for place in places if Path(place).is_file()), "")


def list_minion(context: Context, saltenv: str = "base") -> list[str]:
    """The files in the cache."""
    top = Path(_folder(context), "files", saltenv)
    return sorted(str(one) for one in top.rglob("*") if one.is_file())


def list_master_symlinks(
    context: Context,
    saltenv: NotSupported = "base",
    prefix: NotSupported = "",
) -> dict[str, str]:
    """Symlinks of the tree: none, since files are read as what they lead to."""
    return {}


def envs(context: Context) -> list[str]:
    """The environments of the tree."""
    return list(context.files.saltenvs()) or ["base"]


def push(
    context: Context,
    path: str,
    keep_symlinks: bool = False,
    upload_path: str | None = None,
    remove_source: bool = False,
) -> bool:
    """Send a file of the machine to the controller. False where there is no such file; an error where it is not kept.

    Args:
        context: of the call.
        path: of the file.
        keep_symlinks: whether a link's own name is kept, not that of what it leads to.
        upload_path: its path below the files of this minion, in place of its own.
        remove_source: whether the file is removed once it is kept.
    """
    if _climbs(path) or not os.path.isabs(path) or _climbs(upload_path or ""):  # noqa: PTH117 - as Salt reads it
        return False
    source = Path(path) if keep_symlinks else Path(path).resolve()
    if not source.is_file():
        return False
    names = _upload_names(upload_path or str(source))
    with source.open("rb") as file:
        _send_piece(context, names, 0, file.read(BLOB_CHUNK))
        while data := file.read(BLOB_CHUNK):
            _send_piece(context, names, file.tell() - len(data), data)
    if remove_source:
        context.machine.remove(str(source))
    return True


def push_dir(context: Context, path: str, glob: str | None = None, upload_path: str | None = None) -> bool:
    """Send the files at or below a folder of the machine to the controller. False where there are none.

    Args:
        context: of the call.
        path: of the folder.
        glob: which the names of files have to match.
        upload_path: the folder's path below the files of this minion, in place of its own.
    """
    if _climbs(path) or not os.path.isabs(path):  # noqa: PTH117 - as Salt reads it
        return False
    top = Path(path).resolve()
    if top.is_file():
        return push(context, str(top), upload_path=upload_path)
    found = [Path(folder, name) for folder, _, names in os.walk(top) for name in names]
    wanted = sorted(each for each in found if glob is None or fnmatch.fnmatch(each.name, glob))
    placed = [(each, f"{upload_path}/{each.relative_to(top)}" if upload_path else None) for each in wanted]
    return bool(wanted) and all(push(context, str(each), upload_path=place) for each, place in placed)


def _climbs(path: str) -> bool:
    return "../" in path


def _upload_names(path: str) -> tuple[str, ...]:
    """The names of a path below the minion's files; CallFailed where the controller can have no such path."""
    names = tuple(name for name in posixpath.normpath(path).split("/") if name not in ("", "."))
    try:
        fits = 0 < len(names) <= PUSHED_NAMES and all(len(name.encode()) <= PUSHED_NAME for name in names)
    except UnicodeEncodeError:
        fits = False
    if not fits:
        raise CallFailed(f"{path!r:.200} is no path that the controller can keep a file at: give another upload_path")
    return names


def _send_piece(context: Context, names: tuple[str, ...], offset: int, data: bytes) -> None:
    if context.push is None:
        raise CallFailed("there is no controller to send it to")
    answer = context.push(PushFile(request=0, path=names, offset=offset, data=data))
    if isinstance(answer, Refused):
        raise CallFailed(f"{'/'.join(names)}: {answer.message}")


def recv_chunked(
    context: Context,
    dest: str,
    chunk: str,
    append: bool = False,
    compressed: bool = True,
    mode: Mode | None = None,
    last: bool = True,
) -> bool:
    """Take a piece of a file that `saltern cp` sends; with the last one the file takes its place, in one step.

    Args:
        context: of the call.
        dest: where the file goes; its folder must be there.
        chunk: base64 of the piece.
        append: whether it follows on pieces that came before; else it is the first.
        compressed: whether it is compressed with gzip.
        mode: of the file; without it that of the file which is there, or 0644.
        last: whether it is the last.
    """
    target = Path(dest)
    if not target.is_absolute() or target.is_dir() or not target.parent.is_dir():
        raise CallFailed(f"{dest} is no absolute path of a file in a folder that is there")
    part = Path(_folder(context), "received", hashlib.sha256(dest.encode()).hexdigest())
    part.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with part.open("ab" if append else "wb") as file:
        room = RECEIVED_BYTES - file.tell()
        data = _unpacked(chunk, compressed, room)
        file.write(data or b"")
    if data is None:
        part.unlink()
        raise CallFailed(f"{dest} has more than {RECEIVED_BYTES // 1024**2} MiB: bring it in the tree, or by a URL")
    if last:
        context.machine.copy(str(part), dest, mode=mode)
        part.unlink()
    return True


def _unpacked(chunk: str, compressed: bool, room: int) -> bytes | None:
    """The piece; None where it has more bytes than there is room for. CallFailed for what is none."""
    try:
        data = base64.b64decode(chunk, validate=True)
        if compressed:
            data = zlib.decompressobj(wbits=31).decompress(data, room + 1)
    except (ValueError, zlib.error) as error:
        raise CallFailed(f"this is no piece of a file: {error}") from None
    return data if len(data) <= room else None


def _source(context: Context, path: str, saltenv: str) -> bytes | None:
    folder, env = _place(path, saltenv)
    try:
        return context.machine.source(folder, env)
    except FileNotFoundError:
        return None


def _rendered(context: Context, data: bytes, template: str, saltenv: str, variables: Mapping[str, Any]) -> bytes:
    return context.machine.render_text(data.decode("utf-8", "surrogateescape"), template, saltenv, variables)


def _copied(context: Context, path: str, dest: str, makedirs: bool, data: bytes | None) -> Any:
    if data is None:
        return ""
    target = Path(dest)
    target = target / posixpath.basename(path) if dest.endswith("/") or target.is_dir() else target
    return _put(context, target, data, makedirs)


def _place(path: str, saltenv: str) -> tuple[str, str]:
    return split_salt_url(path, saltenv or "base")


def _put(context: Context, target: Path, data: bytes, makedirs: bool) -> Any:
    from minion.states.file.paths import make_parents
    from minion.states.file.perms import Perms

    if not target.is_absolute():
        raise CallFailed(f"{target} is no absolute path")
    if not target.parent.is_dir():
        if not makedirs:
            return False
        make_parents(context.machine, str(target), Perms())
    context.machine.write(str(target), data)
    return str(target)


def _cache(context: Context, url: str, saltenv: str) -> str:
    return source_place(_folder(context), url, saltenv or "base")


def _folder(context: Context) -> str:
    if not context.cachedir:
        raise CallFailed("this minion has no cache directory")
    return context.cachedir


FUNCTIONS: Mapping[str, Any] = {
    "cache_dest": cache_dest,
    "cache_dir": cache_dir,
    "cache_file": cache_file,
    "cache_files": cache_files,
    "cache_local_file": cache_local_file,
    "cache_master": cache_master,
    "envs": envs,
    "get_dir": get_dir,
    "get_file": get_file,
    "get_file_str": get_file_str,
    "get_template": get_template,
    "get_url": get_url,
    "hash_file": hash_file,
    "is_cached": is_cached,
    "list_master_symlinks": list_master_symlinks,
    "list_minion": list_minion,
    "push": push,
    "push_dir": push_dir,
    "recv_chunked": recv_chunked,
    "stat_file": stat_file,
}
