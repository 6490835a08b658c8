"""A Redis server, reached by the client library for Python, which is imported where a state or function needs it.

Called by the state and the execution module `redis`. Behaviour: doc/ref/modules/all/salt.modules.redismod.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any, NamedTuple, TypeVar

from highstate.redaction import without
from minion.arguments.types import AnyValue
from minion.machine.configured import configured
from minion.machine.failure import ContentUnknown, StateFailed
from minion.machine.plan import Reader

_Found = TypeVar("_Found")
_BRINGING = re.compile(r"archive|cmd|file|module|pip|pkg|pkgrepo|service")
"""State modules that may bring what a question lacks: the library, the server."""
_TIMEOUT = 10.0
"""Seconds."""


class RedisAddress(NamedTuple):
    """Arguments of all functions: where the server is. What is false is taken from the options `redis.*`."""

    host: str | None = None
    port: int | None = None
    db: AnyValue = None
    password: str | None = None
    unix_socket_path: str | None = None


class SentinelAddress(NamedTuple):
    """Where a Sentinel is; what is none is taken from the options `redis_sentinel.*`."""

    host: str | None = None
    port: int | None = None
    password: str | None = None


class RedisServer:
    """A server, or a Sentinel."""

    def __init__(self, options: dict[str, Any], to_come: Collection[tuple[str, str]] = ()) -> None:
        """Raises StateFailed where the library is missing; ContentUnknown where the run may bring it."""
        self._to_come = to_come
        try:
            import redis  # a tenth of a second, and 10 MiB
        except ImportError:
            raise self._lacking(
                "the Redis client for Python is not installed: install saltern[redis], or the Python package redis"
            ) from None
        self._errors = redis.exceptions
        self._secrets = tuple(str(options[one]) for one in ("username", "password") if options.get(one))
        self._client = redis.Redis(**options, decode_responses=True, socket_timeout=_TIMEOUT)

    def call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """What a method of the library's client returns.

        Raises:
            StateFailed: with the server's words, or because it does not answer.
            ContentUnknown: it does not answer, and a run under test=True may start it.
        """
        return self._guarded(lambda: getattr(self._client, method)(*args, **kwargs))

    def together(self, *calls: tuple[str | int, ...]) -> list[Any]:
        """What several methods return, each with its arguments after it, in one question. Raises as `call` does."""

        def asked() -> list[Any]:
            pipeline = self._client.pipeline(transaction=False)
            for method, *args in calls:
                getattr(pipeline, str(method))(*args)
            found: list[Any] = pipeline.execute()
            return found

        return self._guarded(asked)

    def _guarded(self, ask: Callable[[], _Found]) -> _Found:
        try:
            return ask()
        except self._errors.AuthenticationError as error:
            raise StateFailed(f"Redis: {self._unsaid(error)}") from None
        except (self._errors.ConnectionError, self._errors.TimeoutError) as error:
            raise self._lacking(f"Redis does not answer: {self._unsaid(error)}") from None
        except (self._errors.RedisError, UnicodeError) as error:
            raise StateFailed(f"Redis: {self._unsaid(error)}") from None
        finally:
            self._client.close()

    def _unsaid(self, error: Exception) -> str:
        """What the server says; one that does not know AUTH repeats the password."""
        return without(str(error), self._secrets)

    def answers(self) -> bool:
        """Whether it does."""
        try:
            return bool(self._client.ping())
        except self._errors.ConnectionError:
            return False
        finally:
            self._client.close()

    def master(self) -> dict[str, Any]:
        """Whom the server follows, in the shape of Salt's redis.get_master_ip; empty texts where it is a master."""
        info = self.call("info")
        return {key: info.get(key, "") for key in ("master_host", "master_port")}

    def master_named(self, name: str) -> dict[str, Any]:
        """Where a Sentinel says that a master is. Raises as `call` does, and for a name that it does not know."""
        found = self.call("sentinel_get_master_addr_by_name", name)
        if not found:
            raise StateFailed(f"Sentinel knows no master {name}")
        return dict(zip(("master_host", "master_port"), found, strict=True))

    def _lacking(self, text: str) -> Exception:
        """What to raise where something is not there: it may come in a run under test=True."""
        by = next((f"{module} {name}" for module, name in sorted(self._to_come) if _BRINGING.fullmatch(module)), "")
        if by:
            return ContentUnknown(f"{text}. An earlier state of this run ({by}) may bring it")
        return StateFailed(text)


def redis_at(machine: Reader, address: RedisAddress, to_come: Collection[tuple[str, str]] = ()) -> RedisServer:
    """The server that arguments and the configuration's `redis.*` ask for.

    The defaults are Salt's: the host `salt`, port 6379, database 0. A socket comes before a host that is no argument.
    """
    path = address.unix_socket_path
    if not path and not address.host:
        path = configured(machine, "redis.unix_socket_path", None)
    host = address.host or configured(machine, "redis.host", "salt")
    port = address.port or configured(machine, "redis.port", 6379)
    options = {
        "db": int(address.db or configured(machine, "redis.db", 0)),
        "username": configured(machine, "redis.username", None),
        "password": address.password or configured(machine, "redis.password", None),
    }
    where = {"unix_socket_path": str(path)} if path else {"host": str(host), "port": int(port)}
    return RedisServer({**options, **where}, to_come)


def sentinel_at(machine: Reader, address: SentinelAddress, to_come: Collection[tuple[str, str]] = ()) -> RedisServer:
    """The Sentinel that arguments and the configuration's `redis_sentinel.*` ask for."""

    def chosen(option: str, default: Any) -> Any:
        given = getattr(address, option)
        return configured(machine, f"redis_sentinel.{option}", default) if given is None else given

    options = {"host": str(chosen("host", "localhost")), "port": int(chosen("port", 26379))}
    return RedisServer({**options, "password": chosen("password", None)}, to_come)
