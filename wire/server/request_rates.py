"""How often keys that are not accepted may ask: token buckets for a connection, an address and all together.

Called by `wire.server.server`, from its thread, for each key request of such a key. Knows no clock.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass

from wire.limits import StrangerLimits, nobody

_REMEMBERED = 10_000
"""Addresses; then those whose buckets are full again are forgotten."""


@dataclass(slots=True, kw_only=True)
class _Bucket:
    tokens: float
    at: float


class RequestRates:
    """The buckets. A burst of `StrangerLimits.burst_seconds` is allowed to an address and to all together.

    Args:
        limits: of strangers.
        is_controller: see `wire.limits.WireLimits`.
    """

    def __init__(self, limits: StrangerLimits, is_controller: Callable[[str], bool] = nobody) -> None:
        self._limits = limits
        self._is_controller = is_controller
        self._all = _Bucket(tokens=limits.requests_a_second * limits.burst_seconds, at=0.0)
        self._by_address: dict[str, _Bucket] = {}

    def refuse(self, address: str, before: float, now: float) -> str | None:
        """The limit that a request is over, None when it is within all of them.

        Args:
            address: IP address that it comes from.
            before: when the connection asked last, in seconds of a monotonic clock.
            now: the time by the same clock.
        """
        limits = self._limits
        if now - before < limits.request_seconds:
            return "request-seconds"
        if not self._is_controller(address):
            bucket = self._bucket_of(network_of(address), now)
            if not self._take(bucket, limits.address_requests_a_second, now):
                return "address-requests-a-second"
        if not self._take(self._all, limits.requests_a_second, now):
            return "requests-a-second"
        return None

    def _bucket_of(self, network: str, now: float) -> _Bucket:
        bucket = self._by_address.get(network)
        if bucket is None:
            if len(self._by_address) >= _REMEMBERED:
                old = now - self._limits.burst_seconds
                self._by_address = {each: kept for each, kept in self._by_address.items() if kept.at > old}
            full = self._limits.address_requests_a_second * self._limits.burst_seconds
            bucket = self._by_address[network] = _Bucket(tokens=full, at=now)
        return bucket

    def _take(self, bucket: _Bucket, rate: float, now: float) -> bool:
        bucket.tokens = min(rate * self._limits.burst_seconds, bucket.tokens + (now - bucket.at) * rate)
        bucket.at = now
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True


def network_of(address: str) -> str:
    """What counts as one address: an IPv4 address, the /64 network of an IPv6 address."""
    if ":" not in address:
        return address
    try:
        return str(ipaddress.ip_network((address.partition("%")[0], 64), strict=False))
    except ValueError:
        return address
