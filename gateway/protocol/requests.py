"""What minions ask, out of the envelopes it comes in, and the envelopes of answers.

    {enc: clear, load: {cmd: _auth, id, nonce, pub, ...}, version: 3}
    {enc: aes, load: <sealed with the minion's session key>, id, enc_algo, sig_algo, version: 3}

A minion of before version 3 is refused: it does not say in what is sealed who it is, nor when it asked.

Source: `ReqServerChannel` in `salt/channel/server.py`, `AsyncReqChannel` in `salt/channel/client.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway.protocol.crypticle import Crypticle, new_key
from gateway.protocol.packing import pack, unpack
from gateway.protocol.rsa_keys import ENCRYPTIONS, SIGNATURES, GatewayKey, MinionKey
from wire.errors import MalformedMessage
from wire.keys import valid_minion_id
from wire.limits import MinionLimits

BAD_LOAD = pack("bad load")
"""The answer to what is refused: a minion authenticates anew where it cannot decrypt an answer."""
VERSION = 3
GATEWAY = "gateway"
"""What is encrypted for another gateway (`gateway.protocol.between_gateways`)."""
_NONCE = re.compile(r"[0-9a-f]{32}")
_STRANGERS = MinionLimits(depth=6, values=200)
MOST_AGE = 600.0
"""Seconds that a request may be old when it comes, by both clocks; `request_server_ttl` of Salt is 0, which is any."""


class RequestRefused(MalformedMessage):
    """A request that gets no answer but `BAD_LOAD`, and why.

    Args:
        why: in words.
        limit: by which it is refused, as it is reported; empty: by none.
    """

    def __init__(self, why: str, *, limit: str = "") -> None:
        super().__init__(why)
        self.limit = limit


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthRequest:
    """A minion shows its key."""

    id: str
    pub: str
    nonce: str
    token: bytes = b""
    """Encrypted for the gateway's key, where the minion knows one."""
    encryption: str
    signing: str
    autosign_grains: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedRequest:
    """A request of somebody who says to be this minion; `open_request` finds out."""

    id: str
    sealed: bytes
    encryption: str
    signing: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayRequest:
    """A question of somebody who says to be a gateway of the same fleet."""

    sealed: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class MinionRequest:
    """What a minion asks for, and what its answer needs."""

    id: str
    cmd: str
    load: Mapping[str, Any]
    nonce: str
    encryption: str
    signing: str


def read_request(frame: bytes) -> AuthRequest | SealedRequest | GatewayRequest:
    """What came on the port. RequestRefused, or MalformedMessage."""
    # What is sealed is one text, so even the largest return has few values here.
    envelope = unpack(frame, _STRANGERS)
    if not isinstance(envelope, dict):
        raise RequestRefused("no envelope")
    load = envelope.get("load")
    encryption, signing = _algorithms(envelope)
    if envelope.get("version") != VERSION:
        who = load.get("id") if isinstance(load, dict) else envelope.get("id")
        raise RequestRefused(
            f"version {envelope.get('version')!r} of Salt's protocol, by {str(who)[:100]!r}: 3 is needed"
        )
    if envelope.get("enc") == GATEWAY and isinstance(load, bytes):
        return GatewayRequest(sealed=load)
    if envelope.get("enc") == "aes":
        sealed = load.encode() if isinstance(load, str) else load
        if not isinstance(sealed, bytes):
            raise RequestRefused("a load that is not sealed")
        return SealedRequest(id=_id(envelope.get("id")), sealed=sealed, encryption=encryption, signing=signing)
    if envelope.get("enc") != "clear" or not isinstance(load, dict) or load.get("cmd") != "_auth":
        raise RequestRefused("something that is asked without encryption")
    return _auth_request(load)


def open_request(
    request: SealedRequest, session: Crypticle, key: MinionKey, limits: MinionLimits, now: float
) -> MinionRequest:
    """The request. NotAuthentic, RequestRefused or MalformedMessage.

    Args:
        request: see `read_request`.
        session: of the minion's session key.
        key: of the minion.
        limits: of what it holds.
        now: seconds since the epoch.
    """
    load = session.open(request.sealed, limits)
    if not isinstance(load, dict):
        raise RequestRefused("no mapping")
    token, nonce, asked = load.pop("tok", None), load.get("nonce"), load.get("ts")
    token = token.encode() if isinstance(token, str) else token
    if load.get("id") != request.id:
        raise RequestRefused(f"a request of {str(load.get('id'))[:100]!r} in the name of {request.id!r}")
    if not isinstance(token, bytes) or not key.signed_token(token):
        raise RequestRefused("without a token of the minion's key")
    if not isinstance(nonce, str) or not _NONCE.fullmatch(nonce):
        raise RequestRefused("without a nonce")
    if not isinstance(asked, int) or abs(now - asked) > MOST_AGE:
        raise RequestRefused(f"of another time: compare the clocks (the minion's says {asked!r})")
    return MinionRequest(
        id=request.id,
        cmd=str(load.get("cmd", ""))[:100],
        load=load,
        nonce=nonce,
        encryption=request.encryption,
        signing=request.signing,
    )


def sealed_answer(value: Any, session: Crypticle, nonce: str) -> bytes:
    """An answer that the minion alone reads."""
    return pack(session.seal(value, nonce))


def private_answer(name: str, value: Any, key: MinionKey, own: GatewayKey, request: MinionRequest) -> bytes:
    """An answer by a key of its own, and signed, as a pillar is given.

    Args:
        name: of the value in the answer: `pillar`.
        value: the answer.
        key: of the minion.
        own: the gateway's.
        request: what is answered.
    """
    once = new_key()
    for_minion = key.encrypt(once.encode("ascii"), request.encryption)
    data = pack({"key": for_minion, name: value, "nonce": request.nonce})
    signed = {"data": data, "sig": own.sign(data, request.signing)}
    return pack({"key": for_minion, name: Crypticle(once).seal(signed)})


def clear_answer(value: Mapping[str, Any], own: GatewayKey, signing: str) -> bytes:
    """An answer to `_auth`: anybody reads it, and it is signed."""
    packed = pack(value)
    return pack({"enc": "clear", "load": packed, "sig": own.sign(packed, signing)})


def _auth_request(load: Mapping[str, Any]) -> AuthRequest:
    encryption, signing = _algorithms(load)
    nonce, pub, token = load.get("nonce"), load.get("pub"), load.get("token", b"")
    if not isinstance(nonce, str) or not _NONCE.fullmatch(nonce):
        raise RequestRefused("without a nonce")
    if not isinstance(pub, str):
        raise RequestRefused("without a key")
    grains = load.get("autosign_grains")
    return AuthRequest(
        id=_id(load.get("id")),
        pub=pub,
        nonce=nonce,
        token=token.encode() if isinstance(token, str) else token if isinstance(token, bytes) else b"",
        encryption=encryption,
        signing=signing,
        autosign_grains=grains if isinstance(grains, dict) else {},
    )


def _id(given: Any) -> str:
    if not isinstance(given, str) or not valid_minion_id(given):
        raise RequestRefused(f"no id of a minion: {str(given)[:100]!r}")
    return given


def _algorithms(given: Mapping[str, Any]) -> tuple[str, str]:
    encryption, signing = given.get("enc_algo", ENCRYPTIONS[0]), given.get("sig_algo", SIGNATURES[0])
    if encryption not in ENCRYPTIONS or signing not in SIGNATURES:
        raise RequestRefused(f"no algorithm of Salt: {str(encryption)[:40]!r}, {str(signing)[:40]!r}")
    return encryption, signing
