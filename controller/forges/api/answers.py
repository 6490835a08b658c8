"""What a forge answered, and what can be read from it. Pure but for decoding large bodies in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import parse_qs, urlsplit

import httpx
import msgspec

from controller.forges.client import ForgeUnavailable

Parsed = TypeVar("Parsed")

_OFF_THE_LOOP = 256 * 1024
"""Bytes of an answer from which on it is decoded in a thread."""
_MESSAGE_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class Answer:
    """What a forge answered."""

    status: int
    headers: httpx.Headers
    body: bytes

    async def parsed(self, kind: type[Parsed]) -> Parsed:
        """The body as a type; ForgeUnavailable when it is none (the page of a proxy, say)."""
        try:
            if len(self.body) > _OFF_THE_LOOP:
                return await asyncio.to_thread(msgspec.json.decode, self.body, type=kind)
            return msgspec.json.decode(self.body, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise ForgeUnavailable(f"the forge's answer is not of its API ({error}); is `api` right?") from None

    def link(self, relation: str) -> str:
        """The address of a related page; empty when there is none (RFC 8288)."""
        links: str = self.headers.get("link", "")
        for entry in links.split(","):
            address, _, parameters = entry.partition(";")
            if f'rel="{relation}"' in parameters:
                return address.strip().removeprefix("<").removesuffix(">")
        return ""


def message_of(body: bytes) -> str:
    """What a forge says of its refusal, on one line; empty when that is no JSON."""
    try:
        found = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""
    for key in ("message", "error", "errors"):
        value = found.get(key) if isinstance(found, Mapping) else None
        value = value[0] if isinstance(value, list) and value else value
        value = value.get("message") if isinstance(value, Mapping) else value
        if isinstance(value, str) and value:
            return " ".join(value.split())[:_MESSAGE_CHARACTERS]
    return ""


def page_of(address: str) -> int:
    """The number of the page that an address leads to; 1 when it names none."""
    number = parse_qs(urlsplit(address).query).get("page", [""])[0]
    return int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 1
