"""What a compile may ask of the world, as ports: their adapters live in the rooms above, none of them here.

Called by render, functions and pillar. Every answer is part of what a result was made of: facts and secrets are
recorded among the reads, so that a changed answer renders again. A compile without ports asks nobody.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from highstate.dummy_pillar import DummyPillar
from highstate.types import Minion, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """What a function of the live machine gave; or `error`: why it gave nothing."""

    value: Value = None
    error: str = ""
    absent: bool = False
    """Whether it gave nothing because nobody knows such a function."""
    followed: bool = False
    """Whether the one who gave it compares it later, and has the minion compiled when it is another one."""


class Facts(Protocol):
    """Answers of functions that need the live machine, or what only the controller knows of it (`mine.get`)."""

    def answer(self, fun: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Fact | None:
        """The answer, the same throughout a compile. None or an error when there is none: the render then fails."""


class DecryptFailed(Exception):
    """A ciphertext cannot be read; the text says why, and never holds what is secret."""


class Decrypt(Protocol):
    """Reads what was encrypted for the controller (the `gpg` renderer, `decrypt_pillar`)."""

    def decrypt(self, ciphertext: str) -> str:
        """The plain text of one armored message; DecryptFailed when there is no key for it."""


class SecretFailed(Exception):
    """A secret cannot be read; the text says why."""


class Secrets(Protocol):
    """A vault. Paths are those of `vault.read_secret`; answers are cached by the adapter for as long as they hold."""

    def read_secret(self, path: str, minion: Minion) -> Mapping[str, Value]:
        """All keys of one secret; SecretFailed when it is not there or may not be read."""

    def list_secrets(self, path: str, minion: Minion) -> Sequence[str]:
        """Names below a path."""


SECRET_SOURCES = frozenset({"aws_secrets_manager", "aws_ssm", "azure_key_vault", "google_secret_manager", "vault"})
"""External pillars all of whose values are secrets, and shown nowhere."""


class SourceFailed(Exception):
    """An external pillar, or top, gave nothing that can be used; the text says why."""


class PillarSource(Protocol):
    """One kind of external pillar (an entry of `ext_pillar`)."""

    def pillar(self, minion: Minion, pillar: Mapping[str, Value], arguments: Value) -> Mapping[str, Value]:
        """What it knows of the minion, whose pillar so far is `pillar`. `arguments` are the entry's; SourceFailed."""


class TopSource(Protocol):
    """One kind of external top (an entry of `master_tops`)."""

    def tops(self, minion: Minion, arguments: Value) -> Mapping[str, list[str]]:
        """Saltenv -> SLS that the minion shall have. `arguments` are the entry's; SourceFailed."""


class Renderers(Protocol):
    """Renderers of the tree's own (`_renderers`). They are Python of people who may push to the tree."""

    def has(self, name: str, saltenv: str) -> bool:
        """Whether there is one of this name, be it broken."""

    def render(
        self, name: str, saltenv: str, data: Value, dunders: Mapping[str, Value], arguments: Mapping[str, Value]
    ) -> Value:
        """Text or data of `data`, which is either; SourceFailed. `dunders` stand in its module, `arguments` are named.

        See https://docs.saltproject.io/en/latest/ref/renderers/#writing-renderers.
        """

    def make_importable(self) -> None:
        """Let Python of the tree import Salt's common names (`salt.utils.odict`, `salt.exceptions`, ...)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompilePorts:
    """All ports of a compile; the adapters must be the same ones for all that share a memo."""

    facts: Facts | None = None
    decrypt: Decrypt | None = None
    secrets: Secrets | None = None
    pillar_sources: Mapping[str, PillarSource] = field(default_factory=dict)
    """Name in `ext_pillar` -> source."""
    top_sources: Mapping[str, TopSource] = field(default_factory=dict)
    """Name in `master_tops` -> source."""
    renderers: Renderers | None = None
    dummies: DummyPillar | None = None
    """Where given: what top file and states see in place of the pillar, as strangers wrote them."""


NO_PORTS = CompilePorts()


def question(args: Sequence[Value], kwargs: Mapping[str, Value]) -> str:
    """The arguments of a call as text: the same for equal arguments, whatever the order of the named ones."""
    return json.dumps([list(args), kwargs], sort_keys=True, default=str, ensure_ascii=False)


class RecordedFacts:
    """Facts from a list of answers `{"fun": ..., "args": [...], "kwargs": {...}, "ret": ...}`, as replay files hold."""

    def __init__(self, answers: Iterable[Mapping[str, Value]]) -> None:
        self._answers = {
            (one["fun"], question(one.get("args") or [], one.get("kwargs") or {})): Fact(value=one.get("ret"))
            for one in answers
        }

    def answer(self, fun: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Fact | None:
        """See `Facts`."""
        return self._answers.get((fun, question(args, kwargs)))
