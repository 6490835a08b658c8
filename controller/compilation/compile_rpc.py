"""The ports of a compile as remote calls: the sandboxed compile worker has no keys, programs or network.

`compile_worker` makes ports of `Capabilities` (`ports_over`); each use of one becomes a `PortCall` to the controller,
which answers it by `compile_rpc_server`. The worker is not trusted: it names a minion of its request and an entry of
the configuration by number, never a command or an address.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import msgspec

from controller.compilation.recorded_facts import FleetAnswer
from highstate.dummy_pillar import DummyPillar
from highstate.dummy_ports import dummy_ports
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
    fleet: bool = False
    """Whether questions about the fleet are answered."""
    dummies: DummyPillar | None = None
    """Where given, dummies stand for all secrets, and for the pillar."""


NO_CAPABILITIES = Capabilities()

RpcClient = Callable[[PortCall], PortAnswer]
FleetQuery = Callable[[FactQuery, Minion], FleetAnswer]


@dataclass(frozen=True, slots=True)
class _RemoteKeyring:
    """`Decrypt`. Plain texts are kept, because all minions have the same messages."""

    rpc: RpcClient
    known: dict[str, str]

    def decrypt(self, ciphertext: str) -> str:
        found = self.known.get(ciphertext)
        if found is None:
            found = _value(self.rpc(PortCall(port="decrypt", text=ciphertext)), DecryptFailed)
            if len(self.known) >= _KEPT:
                self.known.clear()
            self.known[ciphertext] = found
        return found


@dataclass(frozen=True, slots=True)
class _RemoteVault:
    """`Secrets`. The controller decides how long an answer is valid."""

    rpc: RpcClient

    def read_secret(self, path: str, minion: Minion) -> Mapping[str, Value]:
        call = PortCall(port="read_secret", text=path, minion_id=minion.id)
        found: Mapping[str, Value] = _value(self.rpc(call), SecretFailed)
        return found

    def list_secrets(self, path: str, minion: Minion) -> Sequence[str]:
        found: Sequence[str] = _value(
            self.rpc(PortCall(port="list_secrets", text=path, minion_id=minion.id)), SecretFailed
        )
        return found


@dataclass(frozen=True, slots=True)
class _RemotePillar:
    rpc: RpcClient

    def pillar(self, minion: Minion, pillar: Mapping[str, Value], arguments: Value) -> Mapping[str, Value]:
        so_far = json.dumps(pillar, default=str, skipkeys=True)
        call = PortCall(port="pillar", text=so_far, minion_id=minion.id, entry=arguments)
        found: Mapping[str, Value] = _value(self.rpc(call), SourceFailed)
        return found


@dataclass(frozen=True, slots=True)
class _RemoteTops:
    rpc: RpcClient

    def tops(self, minion: Minion, arguments: Value) -> Mapping[str, list[str]]:
        call = PortCall(port="tops", minion_id=minion.id, entry=arguments)
        found: Mapping[str, list[str]] = _value(self.rpc(call), SourceFailed)
        return found


def fleet_over(
    rpc: RpcClient, minion_id: str, known: dict[FactQuery, FleetAnswer]
) -> Callable[[FactQuery], FleetAnswer]:
    """What answers fleet queries of a compile. `known`: answers that hold for all minions of the request."""

    def ask_fleet(question: FactQuery) -> FleetAnswer:
        if question in known:
            return known[question]
        said = rpc(PortCall(port="fleet", fun=question.fun, text=question.asked, minion_id=minion_id))
        if said.error:
            return FleetAnswer(answer=FactAnswer(error=said.error), mark="")
        found: FleetAnswer = said.value
        if found.shared:
            known[question] = found
        return found

    return ask_fleet


def ports_over(rpc: RpcClient, capabilities: Capabilities) -> CompilePorts:
    """Ports that ask the controller at each use. A process keeps them while the capabilities are the same."""
    if capabilities.dummies is not None:
        return dummy_ports(capabilities.pillar_sources, capabilities.top_sources, capabilities.dummies)
    pillar: PillarSource = _RemotePillar(rpc)
    tops: TopSource = _RemoteTops(rpc)
    keyring: Decrypt | None = _RemoteKeyring(rpc, {}) if capabilities.decrypt else None
    vault: Secrets | None = _RemoteVault(rpc) if capabilities.secrets else None
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
