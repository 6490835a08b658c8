"""What `user.present` asks for: its arguments, checked, as `WantedUser`.

Called by `minion.states.user.state`. It looks at no machine. Passwords are the business of `minion.states.user.shadow`.
"""

from __future__ import annotations

from dataclasses import dataclass

from minion.machine.plan import StateFailed, Value
from minion.providers import accounts

GECOS = ("fullname", "roomnumber", "workphone", "homephone", "other")
"""The parts of passwd's comment field, in their order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedUser:
    """The attributes of a user; None stands for what is left as it is."""

    name: str
    uid: int | None = None
    gid: int | str | None = None
    """An id, or the name of a group."""
    home: str | None = None
    shell: str | None = None
    groups: tuple[str, ...] | None = None
    optional_groups: tuple[str, ...] | None = None
    gecos: tuple[str | None, ...] = (None,) * len(GECOS)

    @classmethod
    def checked(
        cls,
        name: str,
        *,
        ids: tuple[Value, Value],
        paths: tuple[Value, Value],
        groups: tuple[Value, Value],
        gecos: tuple[Value, ...],
    ) -> WantedUser:
        """From the arguments as an author wrote them: (uid, gid), (home, shell), (groups, optional_groups)."""
        accounts.check_name("user", name)
        return cls(
            name=name,
            uid=_uid(ids[0]),
            gid=_gid(ids[1]),
            home=_path("home", paths[0]),
            shell=_path("shell", paths[1]),
            groups=_names("groups", groups[0]),
            optional_groups=_names("optional_groups", groups[1]),
            gecos=tuple(_gecos(key, text) for key, text in zip(GECOS, gecos, strict=True)),
        )

    def all_groups(self) -> list[str]:
        """Groups and optional groups, each once."""
        return list(dict.fromkeys([*(self.groups or ()), *(self.optional_groups or ())]))


def _uid(value: Value) -> int | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not str(value).isdigit():
        raise StateFailed(f"Invalid uid {value!r}: a number is expected")
    return int(value)


def _gid(value: Value) -> int | str | None:
    if value is None or value == "":
        return None
    if not isinstance(value, bool) and str(value).isdigit():
        return int(value)
    accounts.check_name("group", str(value))
    return str(value)


def _path(argument: str, value: Value) -> str | None:
    if value is None or value == "":
        return None
    text = str(value)
    if not text.startswith("/") or any(letter in text for letter in ":\n\0"):
        raise StateFailed(f"Invalid {argument} {text!r}: an absolute path without ':' is expected")
    return text


def _names(argument: str, value: Value) -> tuple[str, ...] | None:
    if value is None:
        return None
    given = value.split(",") if isinstance(value, str) else value
    if not isinstance(given, list | tuple):
        raise StateFailed(f"{argument} is {value!r}: a list of group names is expected")
    names = tuple(dict.fromkeys(str(one).strip() for one in given if str(one).strip()))
    for one in names:
        accounts.check_name("group", one)
    return names


def _gecos(key: str, value: Value) -> str | None:
    if value is None:
        return None
    text = str(value)
    # The last part may hold commas, since nothing comes after it.
    if "," in text and key != "other":
        raise StateFailed(f"Unsupported char ',' in {text}")
    if any(letter in text for letter in ":\n\0"):
        raise StateFailed(f"Unsupported char in {key} {text!r}: ':' and line ends have no place in it")
    return text
