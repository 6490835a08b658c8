"""What a compile asks of the world, asked across the wall: the process that renders has no keys, programs or network.

`compile_worker` makes ports of an `Capabilities` (`ports_over`); each use of one becomes a `PortCall` to the
controller, whose `compiler` has `RpcServer` answer it. The worker is not trusted: it names a minion of its request and
an entry of the configuration by number, never a command or an address. Arguments with passwords stay with the
controller (`sealed`).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import msgspec

from controller.compilation.recorded_facts import Heard
from highstate.ports import (
    CompilePorts,
    Decrypt,
    DecryptFailed,
    PillarSource,
    SecretFailed,
    Secrets,
    SourceFailed,
    TopSource,
)
from highstate.types import Minion, Value
from wire.messages import FactAnswer, FactQuery

_KEPT = 4096


class PortCall(msgspec.Struct, frozen=True, kw_only=True, tag="ask"):
    """One question of a worker."""

    port: Literal["decrypt", "read_secret", "list_secrets", "pillar", "tops", "fleet"]
    text: str = ""
    """Ciphertext, or path of a secret, or the pillar so far as JSON."""
    minion_id: str = ""
    entry: int = 0
    """Of `ext_pillar` or `master_tops`."""
    fun: str = ""
    """Of a question about the fleet; `text` is what is asked."""


class PortAnswer(NamedTuple):
    """What the controller says."""

    value: Any = None
    error: str = ""


class Capabilities(NamedTuple):
    """Which ports there are."""

    decrypt: bool = False
    secrets: bool = False
    pillar_sources: tuple[str, ...] = ()
    top_sources: tuple[str, ...] = ()
    sessions: bool = False
    """Whether questions about the fleet are answered."""


NO_OFFER = Capabilities()

RpcClient = Callable[[PortCall], PortAnswer]
FleetQuery = Callable[[FactQuery, Minion], Heard]


@dataclass(frozen=True, slots=True)
class _RemoteKeyring:
    """`Decrypt`; the same message is met for each minion, so plain texts are kept."""

    ask: RpcClient
    known: dict[str, str]

    def decrypt(self, ciphertext: str) -> str:
        found = self.known.get(ciphertext)
        if found is None:
            found = _value(self.ask(PortCall(port="decrypt", text=ciphertext)), DecryptFailed)
            if len(self.known) >= _KEPT:
                self.known.clear()
            self.known[ciphertext] = found
        return found


@dataclass(frozen=True, slots=True)
class _RemoteVault:
    """`Secrets`; the controller knows how long an answer holds."""

    ask: RpcClient

    def read_secret(self, path: str, minion: Minion) -> Mapping[str, Value]:
        call = PortCall(port="read_secret", text=path, minion_id=minion.id)
        found: Mapping[str, Value] = _value(self.ask(call), SecretFailed)
        return found

    def list_secrets(self, path: str, minion: Minion) -> Sequence[str]:
        found: Sequence[str] = _value(
            self.ask(PortCall(port="list_secrets", text=path, minion_id=minion.id)), SecretFailed
        )
        return found


@dataclass(frozen=True, slots=True)
class _RemotePillar:
    ask: RpcClient

    def pillar(self, minion: Minion, pillar: Mapping[str, Value], arguments: Value) -> Mapping[str, Value]:
        so_far = json.dumps(pillar, default=str, skipkeys=True)
        call = PortCall(port="pillar", text=so_far, minion_id=minion.id, entry=arguments)
        found: Mapping[str, Value] = _value(self.ask(call), SourceFailed)
        return found


@dataclass(frozen=True, slots=True)
class _RemoteTops:
    ask: RpcClient

    def tops(self, minion: Minion, arguments: Value) -> Mapping[str, list[str]]:
        call = PortCall(port="tops", minion_id=minion.id, entry=arguments)
        found: Mapping[str, list[str]] = _value(self.ask(call), SourceFailed)
        return found


def fleet_over(ask: RpcClient, minion_id: str, known: dict[FactQuery, Heard]) -> Callable[[FactQuery], Heard]:
    """What a compile hears of the fleet. `known`: what all minions of a request hear, kept between them."""

    def hear(question: FactQuery) -> Heard:
        if question in known:
            return known[question]
        said = ask(PortCall(port="fleet", fun=question.fun, text=question.asked, minion_id=minion_id))
        if said.error:
            return Heard(answer=FactAnswer(error=said.error), mark="")
        found: Heard = said.value
        if found.shared:
            known[question] = found
        return found

    return hear


def ports_over(ask: RpcClient, capabilities: Capabilities) -> CompilePorts:
    """Ports whose every use is a question. One set serves a process for as long as the offer is the same."""
    pillar: PillarSource = _RemotePillar(ask)
    tops: TopSource = _RemoteTops(ask)
    keyring: Decrypt | None = _RemoteKeyring(ask, {}) if capabilities.decrypt else None
    vault: Secrets | None = _RemoteVault(ask) if capabilities.secrets else None
    return CompilePorts(
        decrypt=keyring,
        secrets=vault,
        pillar_sources=dict.fromkeys(capabilities.pillar_sources, pillar),
        top_sources=dict.fromkeys(capabilities.top_sources, tops),
    )


def _value(answer: PortAnswer, failed: type[Exception]) -> Any:
    if answer.error:
        raise failed(answer.error)
    return answer.value


class RpcServer:
    """Answers the questions of one request, with the controller's own ports.

    Args:
        ports: those of the controller.
        language: fields of `highstate.Settings`, which hold the entries of `ext_pillar` and `master_tops`.
        minions: those of the request; about others nothing is said.
        fleet: answers questions about the fleet, for one of them.
    """

    def __init__(
        self,
        ports: CompilePorts,
        language: Mapping[str, Any],
        minions: Sequence[Minion],
        fleet: FleetQuery | None = None,
    ) -> None:
        self._ports = ports
        self._fleet = fleet
        self._minions = {minion.id: minion for minion in minions}
        external, self._pillar_entries = _numbered(language.get("ext_pillar") or (), ports.pillar_sources)
        tops, self._top_entries = _numbered([language.get("master_tops") or {}], ports.top_sources)
        self.sealed = {**language, "ext_pillar": tuple(external), "master_tops": tops[0]}
        """`language` with numbers in the place of what the ports take: passwords, commands, addresses."""
        self.capabilities = Capabilities(
            decrypt=ports.decrypt is not None,
            secrets=ports.secrets is not None,
            pillar_sources=tuple(ports.pillar_sources),
            top_sources=tuple(ports.top_sources),
            sessions=fleet is not None,
        )

    def answer(self, call: PortCall, within: float = 60.0) -> PortAnswer:
        """What the controller's port says; an error where that has none, or where the question is not allowed.

        Sources that may be somebody's own program have `within` seconds. The other ports have limits of their own.
        """
        if call.port not in ("pillar", "tops", "fleet"):
            return self._answer(call)
        found: list[PortAnswer] = []
        thread = threading.Thread(target=lambda: found.append(self._answer(call)), daemon=True)
        thread.start()
        thread.join(within)
        return found[0] if found else PortAnswer(error=f"there was no answer within {within:.0f} s")

    def _answer(self, call: PortCall) -> PortAnswer:
        try:
            return PortAnswer(value=self._asked(call))
        except (DecryptFailed, SecretFailed, SourceFailed) as failed:
            return PortAnswer(error=str(failed) or type(failed).__name__)
        except (LookupError, ValueError):
            return PortAnswer(error="the compile process asks for what it may not have")
        except Exception as error:  # one question must not end the compile of the others
            kind = type(error).__name__  # its text may hold what a source was given: a password, an address
            import structlog  # not in the process that renders, which has this module too

            log = structlog.get_logger("saltern.compiler")
            log.error("a question of a compile was not answered", port=call.port, minion=call.minion_id, error=kind)
            return PortAnswer(error=f"the controller could not find out: {kind}")

    def _asked(self, call: PortCall) -> Any:
        ports = self._ports
        if call.port == "decrypt" and ports.decrypt is not None:
            return ports.decrypt.decrypt(call.text)
        minion = self._minions[call.minion_id]
        if call.port == "fleet" and self._fleet is not None:
            return self._fleet(FactQuery(fun=call.fun, asked=call.text), minion)
        if call.port == "read_secret" and ports.secrets is not None:
            return dict(ports.secrets.read_secret(call.text, minion))
        if call.port == "list_secrets" and ports.secrets is not None:
            return list(ports.secrets.list_secrets(call.text, minion))
        if call.port == "pillar":
            name, arguments = self._pillar_entries[call.entry]
            return dict(ports.pillar_sources[name].pillar(minion, json.loads(call.text), arguments))
        name, arguments = self._top_entries[call.entry]
        return dict(ports.top_sources[name].tops(minion, arguments))


def _numbered(entries: Iterable[Any], offered: Container[str]) -> tuple[list[Any], list[tuple[str, Value]]]:
    """The entries with numbers as the arguments of what is offered, and (name, arguments) of each number."""
    numbered: list[Any] = []
    given: list[tuple[str, Value]] = []
    for entry in entries:
        if not isinstance(entry, Mapping):
            numbered.append(entry)
            continue
        one = dict(entry)
        for name in entry:
            if name in offered:
                one[name] = len(given)
                given.append((name, entry[name]))
        numbered.append(one)
    return numbered, given
