"""The execution module `shadow`: passwords and their ageing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.execution.arguments import AlwaysDone, OtherRoot
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.providers import accounts

_FIELDS = ("lstchg", "min", "max", "warn", "inact", "expire")


def info(context: Context, name: str, root: OtherRoot = None) -> dict[str, Any]:
    """The shadow entry of a user; empty fields when there is none. The hash is given to every caller."""
    row = _entries(context).get(name)
    if row is None:
        return {"name": "", "passwd": "", **dict.fromkeys(_FIELDS, "")}
    numbers = (int(one) if one.lstrip("-").isdigit() else -1 for one in row[2:8])
    return {"name": name, "passwd": row[1], **dict(zip(_FIELDS, numbers, strict=True))}


def list_users(context: Context, root: OtherRoot = None) -> list[str]:
    """Names of all users that have a shadow entry."""
    return sorted(_entries(context))


def default_hash(context: Context) -> str:
    """What stands for no password: `!`."""
    return "!"


def gen_password(
    context: Context, password: str, crypt_salt: str | None = None, algorithm: str | None = "sha512"
) -> str:
    """A password as /etc/shadow holds it: sha512, sha256 or md5."""
    words = {"sha512": "-6", "sha256": "-5", "md5": "-1"}
    if algorithm not in words:
        raise CallFailed(f"algorithm can be {', '.join(words)}, not {algorithm!r}")
    salt = ["-salt", crypt_salt] if crypt_salt else []
    done = context.machine.run(["openssl", "passwd", words[algorithm], *salt, "-stdin"], stdin=f"{password}\n")
    if done.returncode != 0:
        raise CallFailed(f"openssl cannot make a hash: {done.stderr.strip() or 'is the package openssl installed?'}")
    return done.stdout.strip()


def set_password(
    context: Context,
    name: str,
    password: str,
    use_usermod: AlwaysDone = False,
    root: OtherRoot = None,
) -> bool:
    """Put a hash, not a password, into the shadow entry of a user."""
    if not _there(context, name):
        return False
    if any(sign in password for sign in ":\n"):
        raise CallFailed("a hash holds neither a colon nor a newline")
    accounts.set_password(context.machine, name, password)
    return True


def del_password(context: Context, name: str, root: OtherRoot = None) -> bool:
    """Take the password away: the user can log in without one, where that is allowed."""
    if not _there(context, name):
        return False
    accounts.change(context.machine, ["passwd", "--delete", name], f"The password of {name} could not be removed")
    return not info(context, name)["passwd"]


def lock_password(context: Context, name: str, root: OtherRoot = None) -> bool:
    """Lock the password."""
    if not _there(context, name):
        return False
    accounts.change(context.machine, ["passwd", "--lock", name], f"The password of {name} could not be locked")
    return bool(info(context, name)["passwd"].startswith("!"))


def unlock_password(context: Context, name: str, root: OtherRoot = None) -> bool:
    """Unlock the password."""
    if not _there(context, name):
        return False
    accounts.change(context.machine, ["passwd", "--unlock", name], f"The password of {name} could not be unlocked")
    return not info(context, name)["passwd"].startswith("!")


def set_date(context: Context, name: str, date: int | str, root: OtherRoot = None) -> bool:
    """Set the day of the last change of the password."""
    return _age(context, name, "lstchg", "-d", date, "The day of the last change of the password")


def set_expire(context: Context, name: str, expire: int | str, root: OtherRoot = None) -> bool:
    """Set the day on which the account ends."""
    return _age(context, name, "expire", "-E", expire, "The day on which the account ends")


def set_inactdays(context: Context, name: str, inactdays: int | str, root: OtherRoot = None) -> bool:
    """Set the days for which a password that is too old still works."""
    what = "The days for which a password that is too old still works"
    return _age(context, name, "inact", "-I", inactdays, what)


def set_maxdays(context: Context, name: str, maxdays: int | str, root: OtherRoot = None) -> bool:
    """Set the days after which a password must be changed."""
    return _age(context, name, "max", "-M", maxdays, "The days after which a password must be changed")


def set_mindays(context: Context, name: str, mindays: int | str, root: OtherRoot = None) -> bool:
    """Set the days before which a password cannot be changed."""
    return _age(context, name, "min", "-m", mindays, "The days before which a password cannot be changed")


def set_warndays(context: Context, name: str, warndays: int | str, root: OtherRoot = None) -> bool:
    """Set the days before its end from which a user is warned."""
    return _age(context, name, "warn", "-W", warndays, "The days before its end from which a user is warned")


def _age(context: Context, name: str, field: str, option: str, value: int | str, what: str) -> bool:
    if not _there(context, name):
        return False
    if info(context, name)[field] == value:
        return True
    accounts.change(context.machine, ["chage", option, str(value), name], f"{what} of {name} could not be set")
    return True


def _there(context: Context, name: str) -> bool:
    """Whether the user has an entry; what is to change one says false where there is none, as Salt's functions do."""
    accounts.check_name("user", name)
    return name in _entries(context)


def _entries(context: Context) -> dict[str, list[str]]:
    done = context.machine.query(["getent", "shadow"])
    if done.returncode != 0 or not done.stdout:
        raise CallFailed("The shadow entries can be read by root only")
    rows = [line.split(":") for line in done.stdout.splitlines()]
    return {row[0]: row for row in rows if len(row) == 9}


FUNCTIONS: Mapping[str, Any] = {
    "default_hash": default_hash,
    "del_password": del_password,
    "gen_password": gen_password,
    "info": info,
    "list_users": list_users,
    "lock_password": lock_password,
    "set_date": set_date,
    "set_expire": set_expire,
    "set_inactdays": set_inactdays,
    "set_maxdays": set_maxdays,
    "set_mindays": set_mindays,
    "set_password": set_password,
    "set_warndays": set_warndays,
    "unlock_password": unlock_password,
}
