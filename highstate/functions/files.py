"""cp.*, the path arithmetic of file.*, and what slsutil and pillar say about files of the tree."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Callable, Mapping

from highstate.functions.call import FunctionCall, FunctionFailed
from highstate.salt_urls import split_salt_url
from highstate.types import Value


def _at(call: FunctionCall, url: str, saltenv: str | None) -> tuple[str, str]:
    return split_salt_url(url, saltenv or call.saltenv)


def _read(call: FunctionCall, path: str, saltenv: str | None) -> bytes | None:
    if path.startswith("/") or ("://" in path and not path.startswith("salt://")):
        raise FunctionFailed(f"{path} is no file of the tree (salt://...): it is not available on the controller")
    inner, env = _at(call, path, saltenv)
    return call.recorder.read_file(inner, env) if call.recorder.oid(inner, env) is not None else None


def _get_file_str(call: FunctionCall, path: str, saltenv: str | None = None) -> Value:
    data = _read(call, path, saltenv)
    return "" if data is None else data.decode(errors="replace")


def _hash_file(call: FunctionCall, path: str, saltenv: str | None = None) -> Value:
    data = _read(call, path, saltenv)
    return {} if data is None else {"hash_type": "sha256", "hsum": hashlib.sha256(data).hexdigest()}


def _list_master(call: FunctionCall, saltenv: str | None = None, prefix: str = "") -> list[str]:
    found = call.recorder.list_files("", saltenv or call.saltenv)
    return [path for path in found if path.startswith(prefix.strip("/"))]


def _list_master_dirs(call: FunctionCall, saltenv: str | None = None, prefix: str = "") -> list[str]:
    folders: set[str] = set()
    for path in _list_master(call, saltenv, prefix):
        folder = posixpath.dirname(path)
        while folder:
            folders.add(folder)
            folder = posixpath.dirname(folder)
    return sorted(folders)


def _list_states(call: FunctionCall, saltenv: str | None = None) -> list[str]:
    names = (path for path in _list_master(call, saltenv) if path.endswith(".sls"))
    dotted = (path.removesuffix(".sls").removesuffix("/init").replace("/", ".") for path in names)
    return sorted(dotted)


def _file_exists(call: FunctionCall, path: str, saltenv: str | None = None) -> bool:
    inner, env = _at(call, path, saltenv)
    return call.recorder.oid(inner, env) is not None


def _dir_exists(call: FunctionCall, path: str, saltenv: str | None = None) -> bool:
    inner, env = _at(call, path, saltenv)
    return bool(call.recorder.list_files(inner, env)) and not _file_exists(call, path, saltenv)


def _findup(call: FunctionCall, startpath: str, filenames: str | list[str], saltenv: str | None = None) -> str:
    folder = startpath.strip("/")
    names = [filenames] if isinstance(filenames, str) else filenames
    while True:
        for name in names:
            path = posixpath.join(folder, name)
            if _file_exists(call, path, saltenv):
                return path
        if not folder:
            raise FunctionFailed(f"none of {', '.join(names)} is found in {startpath} or above it")
        folder = posixpath.dirname(folder)


def _sls_exists(call: FunctionCall, mods: str | list[str], saltenv: str | None = None, **ignored: Value) -> bool:
    """Whether there are files for these SLS; Salt renders them besides, and calls a broken one missing."""
    names = mods.split(",") if isinstance(mods, str) else mods
    stems = [name.strip().replace(".", "/") for name in names]
    return all(any(_file_exists(call, stem + end, saltenv) for end in (".sls", "/init.sls")) for stem in stems)


FUNCTIONS: Mapping[str, Callable[..., Value]] = {
    "cp.get_file_str": _get_file_str,
    "cp.hash_file": _hash_file,
    "cp.list_master": _list_master,
    "cp.list_master_dirs": _list_master_dirs,
    "cp.list_states": _list_states,
    "file.basename": lambda call, path: posixpath.basename(path),
    "file.dirname": lambda call, path: posixpath.dirname(path),
    "file.join": lambda call, *parts: posixpath.join(*map(str, parts)),
    "file.normpath": lambda call, path: posixpath.normpath(path),
    "pillar.file_exists": _file_exists,
    "slsutil.file_exists": _file_exists,
    "slsutil.dir_exists": _dir_exists,
    "slsutil.path_exists": lambda call, path, saltenv=None: (
        _file_exists(call, path, saltenv) or _dir_exists(call, path, saltenv)
    ),
    "slsutil.findup": _findup,
    "state.sls_exists": _sls_exists,
}
