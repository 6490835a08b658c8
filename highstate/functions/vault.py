"""vault.* and sdb.* through the `Secrets` port; where there is none, the machine's recorded answers stand for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from highstate.functions.call import FunctionCall, FunctionFailed
from highstate.memo.tracked import plain
from highstate.ports import SecretFailed
from highstate.types import Value

_UNSET = object()


def _read_secret(
    call: FunctionCall, path: str, key: str | None = None, metadata: bool = False, default: Value = _UNSET
) -> Value:
    if call.recorder.sources.ports.secrets is None:
        return _recorded(call, "vault.read_secret", path, *([] if key is None else [key]))
    try:
        secret = call.recorder.secret(path)
    except SecretFailed as error:
        if default is not _UNSET:
            return default
        raise FunctionFailed(f"vault.read_secret {path!r}: {error}") from error
    if metadata:
        raise FunctionFailed("vault.read_secret gives no metadata here")
    if key is None:
        return dict(secret)
    if key in secret:
        return secret[key]
    if default is not _UNSET:
        return default
    raise FunctionFailed(f"vault.read_secret: the secret {path!r} has no key {key!r}")


def _recorded(call: FunctionCall, fun: str, path: str, *more: Value) -> Value:
    """What the machine answers in place of a vault."""
    try:
        return call.ask(fun, path, *more)
    except FunctionFailed as error:
        # A minion is not asked for it: its answers are kept as they are, and shown.
        message = f"{fun} {path!r}: no vault is configured (option `vault` of the controller), and {error}"
        raise FunctionFailed(message) from error


def _list_secrets(call: FunctionCall, path: str, default: Value = _UNSET) -> Value:
    port = call.recorder.sources.ports.secrets
    if port is None:
        return _recorded(call, "vault.list_secrets", path)
    try:
        return {"keys": list(call.recorder.listed_secrets(path))}
    except SecretFailed as error:
        if default is not _UNSET:
            return default
        raise FunctionFailed(f"vault.list_secrets {path!r}: {error}") from error


def _sdb_get(call: FunctionCall, uri: str, **ignored: Value) -> Value:
    """`sdb://profile/path/key` of a profile with the driver vault; others are the machine's. Not an address: itself."""
    if not isinstance(uri, str) or not uri.startswith("sdb://"):
        return uri
    name, _, where = uri.removeprefix("sdb://").partition("/")
    profile = plain(call.opt(name, {}))
    driver = profile.get("driver") if isinstance(profile, Mapping) else None
    if driver != "vault":
        return call.ask("sdb.get", uri)
    path, _, key = where.replace("?", "/").rpartition("/")
    return _read_secret(call, path, key, default=None)


FUNCTIONS: Mapping[str, Callable[..., Value]] = {
    "vault.read_secret": _read_secret,
    "vault.list_secrets": _list_secrets,
    "sdb.get": _sdb_get,
}
