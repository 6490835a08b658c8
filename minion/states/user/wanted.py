"""What `user.present` asks for: its arguments, checked, as `WantedUser`.

Called by `minion.states.user.state`. It reads nothing of the machine. `minion.states.user.shadow` has the passwords.
"""

from __future__ import annotations

from dataclasses import dataclass

from minion.machine.failure import StateFailed
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
        ids: tuple[int | None, int | str | None],
        paths: tuple[str | None, str | None],
        groups: tuple[tuple[str, ...] | None, tuple[str, ...] | None],
        gecos: tuple[str | None, ...],
    ) -> WantedUser:
        """From (uid, gid), (home, shell) and (groups, optional_groups). Raises StateFailed for names that are none."""
        accounts.check_name("user", name)
        if isinstance(ids[1], str):
            accounts.check_name("group", ids[1])
        return cls(
            name=name,
            uid=ids[0],
            gid=ids[1],
            home=_path("home", paths[0]),
            shell=_path("shell", paths[1]),
            groups=_names(groups[0]),
            optional_groups=_names(groups[1]),
            gecos=tuple(_gecos(key, text) for key, text in zip(GECOS, gecos, strict=True)),
        )

    def all_groups(self) -> list[str]:
        """Groups and optional groups, each once."""
        return list(dict.fromkeys([*(self.groups or ()), *(self.optional_groups or ())]))


def _path(argument: str, text: str | None) -> str | None:
    if not text:
        return None
    if not text.startswith("/") or any(letter in text for letter in ":\n\0"):
        raise StateFailed(f"Invalid {argument} {text!r}: an absolute path without ':' is expected")
    return text


def _names(given: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    names = tuple(dict.fromkeys(one.strip() for one in given if one.strip()))
    for one in names:
        accounts.check_name("group", one)
    return names


def _gecos(key: str, text: str | None) -> str | None:
    if text is None:
        return None
    # The last part may hold commas, since nothing comes after it.
    if "," in text and key != "other":
        raise StateFailed(f"Unsupported char ',' in {text}")
    if any(letter in text for letter in ":\n\0"):
        raise StateFailed(f"Unsupported char in {key} {text!r}: ':' and line ends have no place in it")
    return text
