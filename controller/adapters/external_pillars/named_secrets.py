"""Secrets that a cloud keeps by name, as pillar: `aws_secrets_manager`, `aws_ssm`, `google_secret_manager` and
`azure_key_vault`.

Here is what they have in common: which names are read for a minion, how long answers are kept, what a text becomes.
Fields of names are filled from the minion and its pillar so far; a list makes several names of one. A name with nothing
there gives nothing; one that cannot be read fails the compile. Salt and its extensions have no such pillars: what they
take is what saltext-vault's takes, and what each cloud needs.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from cachetools import TTLCache

from highstate.ports import SourceFailed
from highstate.traverse import merge
from highstate.types import Minion, Value
from minion.providers.vault.patterns import NoSuchValue, expanded

_MOST_KEPT = 20_000
"""Answers that are kept, of all minions together."""
_TIME_KEPT = 60.0
"""Seconds: a fleet that is compiled asks once for what its minions share, and the next push sees a changed secret."""
_MOST_CLIENTS = 64
MAX_SECRET = 1024 * 1024
"""Bytes of one secret; the clouds' own limits are 25 to 64 KiB."""
TIMEOUT = 10.0
"""Seconds for one request."""

_COMMON = ("nesting_key", "merge_strategy", "merge_lists", "format")
_FORMATS = ("auto", "json", "text")

KeptTexts: TypeAlias = Mapping[str, str | bytes]
"""Name below what was asked for ('' for itself) -> what is kept there; empty: there is nothing."""


class SecretStore(Protocol):
    """One account of a cloud."""

    def read(self, name: str) -> KeptTexts:
        """What is kept by a name, or below it; SourceFailed when it cannot be read. The text names no credential."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreKind:
    """What one kind of external pillar takes, and whom it asks."""

    names: str
    """The option with the names."""
    options: Sequence[str]
    """Options that say which account is asked, and as whom."""
    extra: str
    """Of saltern; brings the library."""
    store: Callable[[Mapping[str, Any]], SecretStore]
    """From options; SourceFailed where one of them cannot be used."""
    shape: Literal["flat", "tree"] = "flat"
    """Whether a name stands for one secret, or for all below it."""


@dataclass(slots=True)
class NamedSecrets:
    """`PillarSource`: the secrets of one kind of store.

    Args:
        kind: of which.
        clock: seconds.
    """

    kind: StoreKind
    clock: Callable[[], float] = time.monotonic
    _stores: dict[str, SecretStore] = field(default_factory=dict)
    _kept: TTLCache[tuple[str, str], KeptTexts | str] = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._kept = TTLCache(_MOST_KEPT, _TIME_KEPT, timer=self.clock)

    def pillar(self, minion: Minion, pillar: Mapping[str, Value], arguments: Value) -> Mapping[str, Value]:
        """See `PillarSource`."""
        options = self._options(arguments)
        values = {"minion": minion.id, "grains": minion.grains, "pillar": pillar}
        found: dict[Any, Value] = {}
        for pattern in options[self.kind.names]:
            try:
                names = expanded(pattern, values)
            except NoSuchValue:
                continue  # a minion without the key has no such secrets, as with `vault`
            for name in names:
                if ".." in name.split("/"):
                    raise SourceFailed(f"{name!r} leads upwards")
                found = merge(
                    found,
                    _data(name, self._read(options, name), str(options.get("format") or "auto")),
                    strategy=str(options.get("merge_strategy") or "smart"),
                    merge_lists=bool(options.get("merge_lists")),
                )
        return {str(options["nesting_key"]): found} if found and options.get("nesting_key") else found

    def value(self, options: Mapping[str, Any], name: str) -> Value:
        """What one name has, for `sdb.get`: a text, or a mapping of the secret's own or of a tree; None: nothing.

        Args:
            options: of the account, and `format`.
            name: as it is, with nothing to fill in.

        Raises:
            SourceFailed: as in `pillar`.
        """
        self._check(options, (*self.kind.options, "format"))
        answer = self._read(options, name)
        shape = str(options.get("format") or "auto")
        if "" in answer:
            return _value(name, answer[""], shape)
        return _data(name, answer, shape) or None

    def _options(self, arguments: Value) -> Mapping[str, Any]:
        names = self.kind.names
        options = dict(arguments) if isinstance(arguments, Mapping) else {names: arguments}
        self._check(options, (names, *self.kind.options, *_COMMON))
        given = options.get(names)
        each = [given] if isinstance(given, str) else given
        if not isinstance(each, list) or not each or not all(isinstance(one, str) and one for one in each):
            raise SourceFailed(f"{names} is a name, or a list of names, like `app/{{minion}}`")
        return {**options, names: each}

    @staticmethod
    def _check(options: Mapping[str, Any], takes: Sequence[str]) -> None:
        if unknown := options.keys() - set(takes):
            raise SourceFailed(f"it does not take {', '.join(map(str, sorted(unknown)))}, but {', '.join(takes)}")
        if options.get("format", "auto") not in _FORMATS:
            raise SourceFailed(f"format is one of {', '.join(_FORMATS)}, not {options['format']!r}")

    def _read(self, options: Mapping[str, Any], name: str) -> KeptTexts:
        """The answer of an account, kept for a while; SourceFailed, which is kept, too."""
        account = json.dumps({key: options.get(key) for key in self.kind.options}, sort_keys=True, default=str)
        with self._lock:
            answer = self._kept.get((account, name))
        if answer is None:
            answer = self._asked(account, options, name)
            with self._lock:
                self._kept[account, name] = answer
        if isinstance(answer, str):
            raise SourceFailed(answer)
        return answer

    def _asked(self, account: str, options: Mapping[str, Any], name: str) -> KeptTexts | str:
        try:
            return self._store(account, options).read(name)
        except ModuleNotFoundError as error:
            return f"it needs {error.name}; pip install 'saltern[{self.kind.extra}]'"
        except SourceFailed as error:
            return str(error)

    def _store(self, account: str, options: Mapping[str, Any]) -> SecretStore:
        with self._lock:
            if account not in self._stores:
                if len(self._stores) >= _MOST_CLIENTS:
                    self._stores.clear()
                self._stores[account] = self.kind.store(options)
            return self._stores[account]


def _data(name: str, answer: KeptTexts, shape: str) -> dict[str, Value]:
    """What a minion's pillar has of it: a mapping of the secret's own, or a text by the last part of its name."""
    found: dict[str, Value] = {}
    for below, content in answer.items():
        value = _value(below or name, content, shape)
        if not below and isinstance(value, Mapping):
            return dict(value)
        keys = [part for part in (below or name.rpartition("/")[2]).split("/") if part]
        _put(found, keys, value, name)
    return found


def _value(name: str, content: str | bytes, shape: str) -> Value:
    if len(content) > MAX_SECRET:
        raise SourceFailed(f"{name!r} has more than {MAX_SECRET} bytes")
    if shape == "text" or not isinstance(content, str):
        return content
    try:
        value = json.loads(content)
    except ValueError as error:
        if shape == "json":
            raise SourceFailed(f"{name!r} is no JSON") from error  # no part of it is shown
        return content
    return value if shape == "json" or isinstance(value, Mapping) else content


def _put(found: dict[str, Value], keys: Sequence[str], value: Value, name: str) -> None:
    place = found
    for key in keys[:-1]:
        place = place.setdefault(key, {})
        if not isinstance(place, dict):
            raise SourceFailed(f"{name!r} has {key!r} as a value and as a folder")
    if isinstance(place.get(keys[-1]), dict):
        raise SourceFailed(f"{name!r} has {keys[-1]!r} as a value and as a folder")
    place[keys[-1]] = value


def text_option(options: Mapping[str, Any], name: str, needed: str = "") -> str | None:
    """An option that is a text, None where it is not given; SourceFailed. `needed`: what it is, where it must be."""
    value = options.get(name)
    if value is None and not needed:
        return None
    if not isinstance(value, str) or not value:
        raise SourceFailed(f"{name} is {needed or 'a text'}")
    return value
