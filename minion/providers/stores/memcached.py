"""A memcached server, reached by the client library for Python, which is imported where a state or function needs it.

Values are what python-memcached, which Salt uses, makes of texts and numbers, so that each reads what the other has
written. Objects that are pickled are not read: unpickling them would carry out what is in them. Called by the state
and the execution module `memcached`. Behaviour: doc/ref/modules/all/salt.modules.memcached.
"""

from __future__ import annotations

import contextlib
import functools
import re
import zlib
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from minion.machine.failure import ContentUnknown, StateFailed

_BRINGING = re.compile(r"archive|cmd|file|module|pip|pkg|pkgrepo|service")
"""State modules that may bring what a question lacks: the library, the server."""
_TIMEOUT = 10.0
"""Seconds."""
_QUESTION = "get"
"""What leaves its connection to the states after it."""
_PICKLED, _NUMBERS, _COMPRESSED = 1, 2 | 4, 8
"""Flags that the client of python-memcached keeps with a value."""
_NUMBER, _TEXT = 2, 16
_MOST = 64 * 1024 * 1024
"""Bytes that a value may have once it is no longer compressed."""


class MemcachedAddress(NamedTuple):
    """Arguments of all functions: where the server is."""

    host: str = "127.0.0.1"
    port: int = 11211


class Memcached:
    """A server.

    Args:
        address: where it is.
        to_come: what an earlier state of a run under test=True would change.
        compress_from: texts of more bytes than this are compressed; 0: none.
    """

    def __init__(
        self, address: MemcachedAddress, to_come: Collection[tuple[str, str]] = (), compress_from: int = 0
    ) -> None:
        """Raises StateFailed where the library is missing; ContentUnknown where the run may bring it."""
        self._to_come = to_come
        self._address = address
        try:
            from pymemcache import exceptions
        except ImportError:
            raise self._lacking(
                "the memcached client for Python is not installed: install saltern[memcached], or the Python package"
                " pymemcache"
            ) from None
        self._refused, self._closed = exceptions.MemcacheError, exceptions.MemcacheUnexpectedCloseError
        self._client = _client(address, compress_from)

    def call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """What a method of the library's client returns.

        Raises:
            StateFailed: with the server's words, or because it does not answer.
            ContentUnknown: it does not answer, and a run under test=True may start it.
        """
        try:
            return self._asked(*args) if method == _QUESTION else getattr(self._client, method)(*args, **kwargs)
        except (OSError, EOFError) as error:
            raise self._lacking(f"memcached server is down or does not exist ({error})") from None
        except self._refused as error:
            said = error.args[0] if error.args else type(error).__name__
            raise StateFailed(f"memcached: {said.decode() if isinstance(said, bytes) else said}") from None
        finally:
            if method != _QUESTION:
                self._client.close()

    def _asked(self, key: str) -> Any:
        """The value of a key, by the connection that an earlier state has left; the server may have gone since."""
        if self._client.sock is not None:
            with contextlib.suppress(OSError, EOFError, self._closed):
                return self._client.get(key)
            self._client.close()
        return self._client.get(key)

    def statistics(self) -> dict[str, dict[str, str]]:
        """What the server says of itself, in the shape of Salt's memcached.status. Raises as `call` does."""
        lines = self.call("raw_command", "stats", end_tokens="END\r\n").decode().splitlines()
        rows = (line.split(" ", 2) for line in lines if line.startswith("STAT "))
        return {f"{self._address.host}:{self._address.port} (1)": {name: value for _, name, value in rows}}

    def _lacking(self, text: str) -> Exception:
        """What to raise where something is not there: it may come in a run under test=True."""
        by = next((f"{module} {name}" for module, name in sorted(self._to_come) if _BRINGING.fullmatch(module)), "")
        if by:
            return ContentUnknown(f"{text}. An earlier state of this run ({by}) may bring it")
        return StateFailed(text)


@functools.lru_cache(maxsize=8)
def _client(address: MemcachedAddress, compress_from: int) -> Any:
    """One for all states of a run."""
    from pymemcache.client.base import Client

    return Client(
        (address.host, address.port),
        serializer=_written_by(compress_from),
        deserializer=_read,
        connect_timeout=_TIMEOUT,
        timeout=_TIMEOUT,
        default_noreply=False,
        allow_unicode_keys=True,
    )


def kept(value: Any) -> str | int:
    """A value of SLS as it is kept: a whole number, or text. StateFailed for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if value is None or isinstance(value, dict | list):
        raise StateFailed("The value of a key must be text or a number")
    return str(value)


def _written_by(compress_from: int) -> Callable[[str, str | int], tuple[bytes, int]]:
    def written(key: str, value: str | int) -> tuple[bytes, int]:
        if isinstance(value, int):
            return str(value).encode(), _NUMBER
        data = value.encode()
        if compress_from and len(data) > compress_from and len(packed := zlib.compress(data)) < len(data):
            return packed, _TEXT | _COMPRESSED
        return data, _TEXT

    return written


def _read(key: str, value: bytes, flags: int) -> str | int:
    if flags & _PICKLED:
        raise StateFailed(f"The value of {key} is a pickled object, which is not read")
    if flags & _COMPRESSED:
        try:
            value = zlib.decompressobj().decompress(value, _MOST)
        except zlib.error as error:
            raise StateFailed(f"The value of {key} is not compressed as it says: {error}") from None
    try:
        return int(value) if flags & _NUMBERS else value.decode()
    except ValueError:
        raise StateFailed(f"The value of {key} is neither text nor a number") from None
