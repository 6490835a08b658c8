"""The execution module `ssh`: keys that may log in, hosts that are trusted, and the keys of this host."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minion.arguments.commands import Words
from minion.arguments.sources import as_sources
from minion.arguments.types import CommaList, as_comma_list
from minion.execution.apply_state import act
from minion.execution.arguments import NotSupported
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.providers import accounts

CONFIG = ".ssh/authorized_keys"


def auth_keys(
    context: Context,
    user: str | Words | None = None,
    config: str = CONFIG,
    fingerprint_hash_type: str | None = None,
) -> Any:
    """The keys that may log in as a user, or as several: key → kind, comment, options, fingerprint."""
    from minion.states.ssh.auth import parse

    names = user if isinstance(user, list) else [user or "root"]
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        place = _file(context, name, config)
        text = place.read_text(errors="surrogateescape") if place.is_file() else ""
        keys = [key for line in text.splitlines() if (key := parse(line)) is not None]
        found[name] = {
            key.key: {
                "enc": key.kind,
                "comment": key.comment,
                "options": [one for one in key.options.split(",") if one],
                "fingerprint": _fingerprint(key.key, fingerprint_hash_type or "sha256"),
            }
            for key in keys
        }
    return found if isinstance(user, list) else found[names[0]]


def check_key(
    context: Context, user: str, key: str, enc: str, comment: str, options: CommaList, config: str = CONFIG,
    cache_keys: NotSupported = None, fingerprint_hash_type: NotSupported = None,
) -> str:  # fmt: skip
    """What would have to be done for a key: `add`, `update` or `exists`."""
    known = auth_keys(context, user, config).get(key)
    if known is None:
        return "add"
    same = known["enc"] == enc and known["comment"] == (comment or "") and known["options"] == list(options)
    return "exists" if same else "update"


def check_key_file(
    context: Context,
    user: str,
    source: str,
    config: str = CONFIG,
    saltenv: str = "base",
    fingerprint_hash_type: NotSupported = None,
) -> dict[str, str]:
    """What would have to be done for each key of a file."""
    return {
        key.key: check_key(context, user, key.key, key.kind, key.comment, as_comma_list(key.options), config)
        for key in _keys_in(context, source, saltenv)
    }


def set_auth_key(
    context: Context, user: str, key: str, enc: str = "ssh-rsa", comment: str = "", options: CommaList = (),
    config: str = CONFIG, cache_keys: NotSupported = None, fingerprint_hash_type: NotSupported = None,
) -> str:  # fmt: skip
    """Let a key log in as a user: `new`, `replace` or `no change`."""
    known = key in auth_keys(context, user, config)
    made = act(
        context, "ssh_auth.present", key, user=user, enc=enc, comment=comment, options=list(options), config=config
    )
    return ("replace" if known else "new") if made.changes else "no change"


def set_auth_key_from_file(
    context: Context,
    user: str,
    source: str,
    config: str = CONFIG,
    saltenv: str = "base",
    fingerprint_hash_type: NotSupported = None,
    **more: Any,
) -> str:
    """Let the keys of a file log in as a user: `new`, `replace` or `no change`."""
    known = auth_keys(context, user, config)
    replaced = any(one.key in known for one in _keys_in(context, source, saltenv))
    made = act(context, "ssh_auth.present", source, user=user, source=source, config=config, saltenv=saltenv)
    return ("replace" if replaced else "new") if made.changes else "no change"


def rm_auth_key(
    context: Context,
    user: str,
    key: str,
    config: str = CONFIG,
    fingerprint_hash_type: NotSupported = None,
) -> str:
    """Let a key log in as a user no more."""
    if key not in auth_keys(context, user, config):
        return "Key not present"
    return (
        "Key removed" if act(context, "ssh_auth.absent", key, user=user, config=config).changes else "Key not removed"
    )


def rm_auth_key_from_file(
    context: Context,
    user: str,
    source: str,
    config: str = CONFIG,
    saltenv: str = "base",
    fingerprint_hash_type: NotSupported = None,
) -> str:
    """Let the keys of a file log in as a user no more."""
    made = act(context, "ssh_auth.absent", source, user=user, source=source, config=config, saltenv=saltenv)
    return "Key removed" if made.changes else "Key not present"


def host_keys(context: Context, keydir: str = "/etc/ssh", private: bool = True, certs: bool = True) -> dict[str, str]:
    """The keys of this host; private ones only where they can be read."""
    found = {}
    for place in sorted(Path(keydir).glob("ssh_host_*key*")):
        name = place.name.removeprefix("ssh_host_").replace("_key", "").replace("-cert", "_cert")
        is_public = place.suffix == ".pub"
        if (is_public or private) and (certs or "_cert" not in name):
            try:
                found[name] = place.read_text().rstrip("\n")
            except PermissionError:
                found[name] = ""
    return found


def user_keys(
    context: Context, user: str | Words | None = None, pubfile: str | None = None, prvfile: str | None = None
) -> dict[str, dict[str, str]]:
    """The public keys of users, and private ones when `prvfile` names a file."""
    names = user if isinstance(user, list) else [user] if user else accounts.user_names(context.machine)
    found: dict[str, dict[str, str]] = {}
    for name in names:
        one = accounts.user(context.machine, name)
        folder = Path(one.home) / ".ssh" if one else None
        if folder is None or not folder.is_dir():
            continue
        places = [folder / pubfile] if pubfile else sorted(folder.glob("id_*.pub"))
        places += [folder / prvfile] if prvfile else []
        keys = {place.name.removeprefix("id_"): place.read_text().rstrip("\n") for place in places if place.is_file()}
        if keys:
            found[name] = keys
    return found


def get_known_host_entries(
    context: Context,
    user: str | None,
    hostname: str,
    config: str | None = None,
    port: int | None = None,
    fingerprint_hash_type: NotSupported = None,
) -> Any:
    """The keys by which a host is known; null when it is not."""
    from minion.states.ssh.known_hosts import known_hosts_path, known_keys, known_name

    path = known_hosts_path(context.machine, user, config)
    keys = known_keys(context.machine, path, known_name(hostname, port))
    entries = [
        {"hostname": hostname, "enc": kind, "key": key, "fingerprint": _fingerprint(key, "sha256")}
        for kind, key in keys
    ]
    return entries or None


def check_known_host(
    context: Context, user: str | None = None, hostname: str = "", key: str | None = None,
    fingerprint: str | None = None, config: str | None = None, port: int | None = None,
    fingerprint_hash_type: NotSupported = None,
) -> str:  # fmt: skip
    """What would have to be done to trust a host: `add`, `update` or `exists`."""
    entries = get_known_host_entries(context, user, hostname, config, port)
    if not entries:
        return "add"
    fits = any(one["key"] == key or one["fingerprint"] == fingerprint for one in entries)
    return "exists" if fits or (key is None and fingerprint is None) else "update"


def set_known_host(
    context: Context, user: str | None = None, hostname: str = "", fingerprint: str | None = None,
    key: str | None = None, port: int | None = None, enc: str | None = None, config: str | None = None,
    hash_known_hosts: NotSupported = None, timeout: NotSupported = None, fingerprint_hash_type: NotSupported = None,
) -> dict[str, Any]:  # fmt: skip
    """Trust a host by its key, or by its key's fingerprint."""
    old = get_known_host_entries(context, user, hostname, config, port)
    made = act(context, "ssh_known_hosts.present", hostname, user=user, fingerprint=fingerprint, key=key, port=port,
               enc=enc, config=config)  # fmt: skip
    new = get_known_host_entries(context, user, hostname, config, port)
    return {"status": "updated", "old": old, "new": new} if made.changes else {"status": "exists", "keys": new}


def rm_known_host(
    context: Context,
    user: str | None = None,
    hostname: str = "",
    config: str | None = None,
    port: int | None = None,
) -> dict[str, str]:
    """Trust a host no more."""
    from minion.states.ssh.known_hosts import known_hosts_path

    path = known_hosts_path(context.machine, user, config)
    if context.machine.stat(path) is None:
        return {"status": "error", "error": f"Known hosts file {path} does not exist"}
    act(context, "ssh_known_hosts.absent", hostname, user=user, config=config, port=port)
    return {"status": "removed", "comment": f"# Host {hostname} removed"}


def recv_known_host_entries(
    context: Context,
    hostname: str,
    enc: str | None = None,
    port: int | None = None,
    hash_known_hosts: NotSupported = None,
    timeout: int = 5,
    fingerprint_hash_type: NotSupported = None,
) -> Any:
    """The keys that a host shows when it is asked; null when it does not answer. Nobody has vouched for them."""
    if hostname.startswith("-"):
        raise CallFailed(f"{hostname!r} is no name")
    kind = ["-t", enc.removeprefix("ssh-").replace("ecdsa-sha2-nistp256", "ecdsa")] if enc else []
    done = context.machine.run(
        ["ssh-keyscan", "-T", str(timeout), *(["-p", str(port)] if port else []), *kind, hostname]
    )
    rows = (line.split() for line in done.stdout.splitlines() if not line.startswith("#"))
    entries = [{"hostname": hostname, "enc": row[1], "key": row[2], "fingerprint": _fingerprint(row[2], "sha256")}
               for row in rows if len(row) >= 3]  # fmt: skip
    return entries or None


def key_is_encrypted(context: Context, key: str) -> bool:
    """Whether a private key wants a pass phrase."""
    place = Path(key)
    if not place.is_file():
        raise CallFailed(f"There is no key {key}")
    done = context.machine.run(["ssh-keygen", "-y", "-P", "", "-f", key])
    return done.returncode != 0 and "passphrase" in done.stderr


def _file(context: Context, user: str, config: str) -> Path:
    found = accounts.user(context.machine, user)
    home = found.home if found else "/"
    if found is None and not config.startswith("/"):
        raise CallFailed(f"User {user} does not exist")
    return Path(home, config.replace("%h", home).replace("%u", user).replace("%%", "%"))


def _keys_in(context: Context, source: str, saltenv: str) -> Any:
    from minion.states.file.sources import Template, of_source
    from minion.states.ssh.auth import parse

    url = source if "://" in source else f"file://{source}"
    text = of_source(context.machine, as_sources(url), saltenv, Template(variables={}), None).decode("utf-8", "replace")
    return [key for line in text.splitlines() if (key := parse(line)) is not None]


def _fingerprint(key: str, form: str) -> str:
    try:
        digits = hashlib.new(form, base64.b64decode(key), usedforsecurity=False).hexdigest()
    except (binascii.Error, ValueError):
        return ""
    return ":".join(digits[i : i + 2] for i in range(0, len(digits), 2))


FUNCTIONS: Mapping[str, Any] = {
    "auth_keys": auth_keys,
    "check_key": check_key,
    "check_key_file": check_key_file,
    "check_known_host": check_known_host,
    "get_known_host_entries": get_known_host_entries,
    "host_keys": host_keys,
    "key_is_encrypted": key_is_encrypted,
    "recv_known_host_entries": recv_known_host_entries,
    "rm_auth_key": rm_auth_key,
    "rm_auth_key_from_file": rm_auth_key_from_file,
    "rm_known_host": rm_known_host,
    "set_auth_key": set_auth_key,
    "set_auth_key_from_file": set_auth_key_from_file,
    "set_known_host": set_known_host,
    "user_keys": user_keys,
}
