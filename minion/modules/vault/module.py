"""The execution module `vault`: secrets, policies and requests, with a token of this minion's policies alone.

Behaviour: the module of saltext-vault. What the server refuses fails with its reason; Salt
returns False there and logs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any

from minion.arguments.types import AnyValue, Ignored
from minion.execution.context import Context
from minion.execution.errors import CallFailed

_UNSET = "__unset__"
_Whole = Annotated[AnyValue, Ignored("the server's address and the token are had anew together")]


def _told(function: Callable[..., Any]) -> Callable[..., Any]:
    """What the server refuses is the failure of the call."""

    @wraps(function)
    def call(context: Context, *args: Any, **kwargs: Any) -> Any:
        own = context.vault.own  # imports the client, or says what is missing
        from minion.providers.vault.api import VaultFailed

        try:
            return function(context, *args, **kwargs)
        except VaultFailed as error:
            names = own.current().policies if type(error).__name__ == "NotAllowed" and not own.is_spent else ()
            more = f" (its policies: {', '.join(names)})" if names else ""
            raise CallFailed(f"{error}{more}") from error

    return call


@_told
def read_secret(
    context: Context,
    path: str,
    key: str | None = None,
    metadata: bool = False,
    default: AnyValue = _UNSET,
    version: int | None = None,
) -> Any:
    """The keys of a secret, or one of them; `metadata`: with what is known of the version."""
    from minion.providers.vault.api import VaultFailed

    try:
        found = context.vault.secrets.read(path, version)
    except VaultFailed:
        if default == _UNSET:
            raise
        return default
    if metadata and found.metadata is not None:
        return {"data": dict(found.data), "metadata": dict(found.metadata)}
    if key is None:
        return dict(found.data)
    if key in found.data:
        return found.data[key]
    if default == _UNSET:
        raise CallFailed(f"the secret {path} has no key {key!r}")
    return default


@_told
def read_secret_meta(context: Context, path: str) -> Any:
    """What is known of a secret and its versions; False of an engine without versions."""
    secrets = context.vault.secrets
    return dict(secrets.metadata(path)) if secrets.has_versions(path) else False


@_told
def write_secret(context: Context, path: str, **values: Any) -> Any:
    """Replace a secret, or make it, from named arguments."""
    return _plain(context.vault.secrets.write(path, _given(values)))


@_told
def write_raw(context: Context, path: str, raw: AnyValue) -> Any:
    """Replace a secret, or make it, from a mapping."""
    return _plain(context.vault.secrets.write(path, _mapping(raw)))


@_told
def patch_secret(context: Context, path: str, **values: Any) -> Any:
    """Change keys of a secret that is there, by named arguments; null takes one out."""
    return _plain(context.vault.secrets.patch(path, _given(values)))


@_told
def patch_raw(context: Context, path: str, raw: AnyValue) -> Any:
    """Change keys of a secret that is there, by a mapping; null takes one out."""
    return _plain(context.vault.secrets.patch(path, _mapping(raw)))


@_told
def delete_secret(context: Context, path: str, *args: int, all_versions: bool = False) -> bool:
    """Delete the newest version of a secret, or those that are named, so that they can be restored."""
    secrets = context.vault.secrets
    secrets.delete(path, secrets.versions(path) if all_versions and secrets.has_versions(path) else args)
    return True


@_told
def restore_secret(context: Context, path: str, *versions: int, all_versions: bool = False) -> bool:
    """Take back that versions were deleted: the newest, or those that are named."""
    secrets = context.vault.secrets
    secrets.restore(path, secrets.versions(path, deleted=True) if all_versions else versions or [secrets.current(path)])
    return True


@_told
def destroy_secret(context: Context, path: str, *args: int, all_versions: bool = False) -> bool:
    """Remove the data of versions for good: of the newest, or those that are named."""
    secrets = context.vault.secrets
    every = [*secrets.versions(path), *secrets.versions(path, deleted=True)] if all_versions else args
    secrets.destroy(path, every or [secrets.current(path)])
    return True


@_told
def wipe_secret(context: Context, path: str) -> bool:
    """Remove a secret with all its versions and what is known of it."""
    context.vault.secrets.wipe(path)
    return True


@_told
def list_secrets(context: Context, path: str, default: AnyValue = _UNSET, keys_only: bool = False) -> Any:
    """Names below a path: `{keys: [...]}`, or a list."""
    from minion.providers.vault.api import VaultFailed

    try:
        found = list(context.vault.secrets.names(path))
    except VaultFailed:
        if default == _UNSET:
            raise
        return default
    return found if keys_only else {"keys": found}


@_told
def policy_fetch(context: Context, policy: str) -> str | None:
    """The rules of a policy; null where there is none."""
    from minion.providers.vault.api import NothingThere

    try:
        found = context.vault.own.ask("GET", f"sys/policies/acl/{policy}")
    except NothingThere:
        return None
    rules: str | None = (found.get("data") or {}).get("policy")
    return rules


@_told
def policy_write(context: Context, policy: str, rules: str) -> bool:
    """Make a policy, or replace its rules."""
    context.vault.own.ask("POST", f"sys/policies/acl/{policy}", {"policy": rules})
    return True


@_told
def policy_delete(context: Context, policy: str) -> bool:
    """Delete a policy; False where there is none."""
    if policy_fetch(context, policy) is None:
        return False
    context.vault.own.ask("DELETE", f"sys/policies/acl/{policy}")
    return True


@_told
def policies_list(context: Context) -> list[str]:
    """The names of all policies."""
    return [str(each) for each in context.vault.own.ask("LIST", "sys/policies/acl")["data"]["keys"]]


@_told
def query(context: Context, method: str, endpoint: str, payload: AnyValue = None) -> Any:
    """Any request; what the server answers."""
    return _plain(context.vault.own.ask(method, endpoint, None if payload is None else _mapping(payload)))


def clear_cache(context: Context, connection: _Whole = None, session: _Whole = None) -> bool:
    """Ask anew where the server is, and have another token; nothing else is kept from call to call."""
    context.vault.forget()
    return True


def update_config(context: Context, keep_session: _Whole = None) -> bool:
    """Ask anew where the server is, and have another token."""
    return clear_cache(context)


def get_server_config(context: Context) -> dict[str, Any]:
    """Where the server is."""
    server = context.vault.server
    return {"url": server.url, "namespace": server.namespace, "verify": server.verify}


def _plain(answer: Mapping[str, Any]) -> Any:
    return dict(answer) if answer else True


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if not key.startswith("_")}


def _mapping(raw: Any) -> dict[str, Any]:
    if not isinstance(raw, Mapping):
        raise CallFailed("it takes a mapping of keys to values")
    return {str(key): value for key, value in raw.items()}


FUNCTIONS: Mapping[str, Any] = {
    each.__name__: each
    for each in (
        *(clear_cache, delete_secret, destroy_secret, get_server_config, list_secrets, patch_raw, patch_secret),
        *(policies_list, policy_delete, policy_fetch, policy_write, query, read_secret, read_secret_meta),
        *(restore_secret, update_config, wipe_secret, write_raw, write_secret),
    )
} | {"clear_token_cache": clear_cache}
