"""Requests that were said before: whoever can listen on the network may say one again, sealed as it is.

Salt's answer is `request_server_ttl`, which is off unless somebody sets it. Here a request may be as old as clocks may
differ (`MOST_AGE`), and for so long its nonce is remembered. What only reads may be said again: a minion that has had
no answer does that, and whoever else does gets an answer that it cannot read.
"""

from __future__ import annotations

from collections import OrderedDict

from gateway.protocol.requests import MOST_AGE, MinionRequest, RequestRefused

READS = frozenset(
    (
        *("_file_find", "_file_hash", "_file_hash_and_stat", "_serve_file", "_file_list", "_dir_list", "_symlink_list"),
        *("_file_list_emptydirs", "_file_envs", "_master_opts", "_master_tops", "_ext_nodes", "_mine_get"),
        *("_pillar", "verify_minion"),
    )
)
_REMEMBERED = 20_000
"""Nonces of one minion; its budget of computing keeps it from saying more in that time."""


class SaidBefore:
    """The nonces of what one minion has said."""

    def __init__(self) -> None:
        self._nonces: OrderedDict[str, float] = OrderedDict()

    def check(self, request: MinionRequest, now: float) -> None:
        """Remember a request. RequestRefused where it was said before.

        Args:
            request: of the minion.
            now: seconds of a monotonic clock.
        """
        if request.cmd in READS:
            return
        while self._nonces and (
            len(self._nonces) >= _REMEMBERED or now - next(iter(self._nonces.values())) > 2 * MOST_AGE
        ):
            self._nonces.popitem(last=False)
        if request.nonce in self._nonces:
            raise RequestRefused(f"{request.cmd} of {request.id!r} was said before", limit="said-before")
        self._nonces[request.nonce] = now
