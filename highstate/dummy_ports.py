"""Ports that have no secret: for compiles of what strangers wrote. Pure.

On the side of the controller they answer nothing but empty external pillars and tops, so that a compile process that is
taken over can ask for no more. On the side of the compile process each secret is a text of the same type: one for each
ciphertext, path and key, so that it shows that another one is read, and never what it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from highstate.dummy_pillar import DummyPillar
from highstate.ports import CompilePorts, Decrypt, PillarSource, Secrets, TopSource
from highstate.types import Minion, Value


def dummy_text(kind: str, name: str) -> str:
    """What stands for a secret; the same for the same name."""
    return f"dummy-{kind}-{hashlib.blake2b(name.encode(), digest_size=6).hexdigest()}"


class _AnyKeys(dict[str, Value]):
    """A secret that has every key: which ones a template asks for is not known."""

    def __init__(self, path: str) -> None:
        super().__init__(value=dummy_text("secret", path))
        self._path = path

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str)

    def __missing__(self, key: str) -> Value:
        return dummy_text("secret", f"{self._path}?{key}")


class _DummyKeyring:
    """`Decrypt`."""

    def decrypt(self, ciphertext: str) -> str:
        return dummy_text("plain", ciphertext)


class _DummyVault:
    """`Secrets`."""

    def read_secret(self, path: str, minion: Minion) -> Mapping[str, Value]:
        return _AnyKeys(path)

    def list_secrets(self, path: str, minion: Minion) -> Sequence[str]:
        return ()


class _EmptySource:
    """`PillarSource` and `TopSource`."""

    def pillar(self, minion: Minion, pillar: Mapping[str, Value], arguments: Value) -> Mapping[str, Value]:
        return {}

    def tops(self, minion: Minion, arguments: Value) -> Mapping[str, list[str]]:
        return {}


def without_secrets(ports: CompilePorts) -> CompilePorts:
    """What the controller answers in place of these ports."""
    return _empty(ports.pillar_sources, ports.top_sources, None, None)


def dummy_ports(pillar_sources: Iterable[str], top_sources: Iterable[str], dummies: DummyPillar) -> CompilePorts:
    """What a compile process has, which asks the controller for nothing."""
    return replace(_empty(pillar_sources, top_sources, _DummyKeyring(), _DummyVault()), dummies=dummies)


def _empty(
    pillar_sources: Iterable[str], top_sources: Iterable[str], keyring: Decrypt | None, vault: Secrets | None
) -> CompilePorts:
    source = _EmptySource()
    pillars: dict[str, PillarSource] = dict.fromkeys(pillar_sources, source)
    tops: dict[str, TopSource] = dict.fromkeys(top_sources, source)
    return CompilePorts(decrypt=keyring, secrets=vault, pillar_sources=pillars, top_sources=tops)
