"""What `user.present` says of a user's password and its ageing: the arguments, checked, and the changes they make.

Called by `minion.states.user.state`. Neither a password nor a hash stands in a change, a comment or an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Reader
from minion.providers import accounts
from minion.providers.accounts import REDACTED, Shadow

_UNSET = ("", "!", "!!", "*", "!*")
"""Passwords of users who have none yet."""

_AGEING: Mapping[str, tuple[str, str]] = {
    "date": ("lstchg", "--lastday"),
    "mindays": ("min", "--mindays"),
    "maxdays": ("max", "--maxdays"),
    "inactdays": ("inact", "--inactive"),
    "warndays": ("warn", "--warndays"),
    "expire": ("expire", "--expiredate"),
}
"""Argument -> the field of the shadow entry, by which Salt's `changes` call it, and chage's option."""

WORDS = {field: argument for argument, (field, _) in _AGEING.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Password:
    """What the password shall be."""

    text: str | None = field(default=None, repr=False)
    plain: bool = False
    """Whether `text` is the password itself, and no hash."""
    empty: bool = False
    locked: bool | None = None
    enforced: bool = True
    days: Mapping[str, int] = field(default_factory=dict)
    """Field of the shadow entry -> days."""

    @classmethod
    def checked(
        cls,
        *,
        password: str | None,
        plain: bool,
        empty: bool,
        locked: bool | None,
        enforced: bool,
        days: Mapping[str, int | None],
    ) -> Password:
        """From the arguments of user.present; `days` by argument. Raises StateFailed for what cannot be set."""
        text = password
        if text is not None and (not text or any(letter in text for letter in "\n\r\0")):
            raise StateFailed("Invalid password: it is not empty, and a single line")
        if text is not None and not plain and ":" in text:
            raise StateFailed("Invalid password: the hash as it stands in /etc/shadow is expected, without ':'")
        known = {_AGEING[name][0]: _days(name, value) for name, value in days.items() if value is not None}
        return cls(text=text, plain=plain, empty=empty, locked=locked, enforced=enforced, days=known)

    @property
    def sets(self) -> bool:
        """Whether there is a password to be set; `empty_password` is stronger."""
        return self.text is not None and not self.empty

    def set(self, machine: Machine, name: str) -> None:
        """Put the hash into the shadow entry."""
        text = self.text or ""
        if self.plain:
            from minion.providers.password import hash_of

            text = hash_of(text)
        accounts.set_password(machine, name, text)

    def fits(self, now: str) -> bool:
        """Whether the password of now may stay."""
        if not self.enforced and now not in _UNSET:
            return True
        if not self.plain:
            return now == self.text
        from minion.providers.password import matches

        return matches(self.text or "", now)

    def after_creation(self, name: str) -> list[Change]:
        """What a new user gets, by Salt's names."""
        changes = []
        if self.sets:
            changes.append(Change(key="password", reported=REDACTED, act=lambda machine: self.set(machine, name)))
        elif self.empty:
            changes.append(Change(key="password", reported="", act=_tool(["passwd", "--delete", "--", name], name)))
        if self.locked and self.sets:
            changes.append(Change(key="", act=_tool(["usermod", "--lock", "--", name], name)))
        return changes + [
            Change(key=WORDS[one], reported=days, act=_age(name, one, days)) for one, days in self.days.items()
        ]

    def changes(self, machine: Reader, name: str) -> list[Change]:
        """How the shadow entry of a user who is there differs."""
        if not (self.sets or self.empty or self.days or self.locked is not None):
            return []
        now = accounts.shadow(machine, name)
        if now is None:
            raise StateFailed(f"The shadow entry of user {name} cannot be read: that takes root")
        secret = self._password(now, name)
        return [*secret, *self._lock(now, name), *self._ageing(now, name, fresh=bool(secret))]

    def _password(self, now: Shadow, name: str) -> list[Change]:
        if self.empty and now.password:
            return [Change(key="passwd", reported=REDACTED, act=_tool(["passwd", "--delete", "--", name], name))]
        # A lock that is asked for stands before the hash.
        stands = now.password.removeprefix("!") if self.locked and now.password not in _UNSET else now.password
        if not self.sets or self.fits(stands):
            return []
        return [Change(key="passwd", reported=REDACTED, act=lambda machine: self.set(machine, name))]

    def _lock(self, now: Shadow, name: str) -> list[Change]:
        setting = bool(self.sets and not self.fits(now.password.removeprefix("!")))
        there = now.password.startswith("!") and not setting
        if self.locked is None or self.empty or self.locked == there:
            return []
        if not self.locked and setting:
            return []  # a new hash is not locked
        verb = "--lock" if self.locked else "--unlock"
        return [
            Change(key="" if setting else "passwd", reported=REDACTED, act=_tool(["usermod", verb, "--", name], name))
        ]

    def _ageing(self, now: Shadow, name: str, *, fresh: bool) -> list[Change]:
        # To set a password is to set the day of its last change to today.
        return [
            Change(key=one, old=now.days[one], new=days, reported=days, act=_age(name, one, days))
            for one, days in self.days.items()
            if now.days[one] != days or (fresh and one == "lstchg")
        ]


def _age(name: str, which: str, days: int) -> Callable[[Machine], None]:
    option = _AGEING[WORDS[which]][1]
    return _tool(["chage", option, str(days), "--", name], name)


def _tool(command: list[str], name: str) -> Callable[[Machine], None]:
    return lambda machine: accounts.change(machine, command, f"Failed to change the password settings of user {name}")


def _days(argument: str, days: int) -> int:
    if days < -1:
        raise StateFailed(f"Invalid {argument} {days!r}: a number of days is expected")
    return days
