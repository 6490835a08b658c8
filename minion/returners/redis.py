"""Redis: the keys of Salt's returner of this name.

`ret:JID` is a hash of minions and their returns, `MINION:FUN` the jid of the last call, `minions` a set, `load:JID` the
job. Writing the same return again changes nothing. Source: Salt's redis_return.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from minion.returners.errors import ReturnerError, library
from minion.returners.options import options_of, times

DEFAULTS = {
    "db": "0",
    "host": "salt",
    "port": 6379,
    "username": None,
    "password": None,
    "unix_socket_path": "",
    "ssl": False,
    "timeout": 10,
}
_HOURS = 24.0
"""Salt's `keep_jobs`, where nothing says how long jobs are kept."""
_MOST_JOBS = 20_000


def returner(opts: Mapping[str, Any], ret: Mapping[str, Any]) -> None:
    """Keep a return."""
    minion, jid = ret["id"], ret["jid"]
    client = _client(opts, ret)
    with _said(), client.pipeline(transaction=True) as pipeline:
        pipeline.hset(f"ret:{jid}", minion, json.dumps(ret))
        pipeline.expire(f"ret:{jid}", _lifetime(opts))
        pipeline.set(f"{minion}:{ret['fun']}", jid)
        pipeline.sadd("minions", minion)
        pipeline.execute()


def save_load(opts: Mapping[str, Any], jid: str, load: Mapping[str, Any]) -> None:
    """Keep what was asked for."""
    with _said():
        _client(opts).set(f"load:{jid}", json.dumps(load), ex=_lifetime(opts))


def get_load(opts: Mapping[str, Any], jid: str) -> dict[str, Any]:
    """What was asked for; empty when the job is not known."""
    with _said():
        found = _client(opts).get(f"load:{jid}")
    return json.loads(found) if found else {}


def get_jid(opts: Mapping[str, Any], jid: str) -> dict[str, Any]:
    """Minion -> its return."""
    with _said():
        found = _client(opts).hgetall(f"ret:{jid}")
    return {minion: json.loads(ret) for minion, ret in found.items()}


def get_jids(opts: Mapping[str, Any]) -> dict[str, Any]:
    """Jid -> what was asked for."""
    client = _client(opts)
    with _said():
        keys = []
        for key in client.scan_iter("load:*", count=1000):
            keys.append(key)
            if len(keys) >= _MOST_JOBS:
                break
        loads = client.mget(keys) if keys else []
    return {key.removeprefix("load:"): json.loads(load) for key, load in zip(keys, loads, strict=True) if load}


def _lifetime(opts: Mapping[str, Any]) -> int:
    """Seconds that Redis keeps a job."""
    seconds = times(opts.get("keep_jobs_seconds"), times(opts.get("keep_jobs"), _HOURS) * 3600)
    return max(1, int(seconds))


def _client(opts: Mapping[str, Any], ret: Mapping[str, Any] | None = None) -> Any:
    redis = library("redis", "redis")
    found = options_of("redis", opts, DEFAULTS, ret)
    timeout = times(found["timeout"], 10.0)
    common = {
        "db": int(found["db"]),
        "username": found["username"],
        "password": found["password"],
        "decode_responses": True,
        "socket_timeout": timeout,
        "socket_connect_timeout": timeout,
    }
    if found["unix_socket_path"]:
        return redis.Redis(unix_socket_path=found["unix_socket_path"], **common)
    return redis.Redis(host=found["host"], port=int(found["port"]), ssl=bool(found["ssl"]), **common)


class _said:  # noqa: N801 - it is used like a function
    """Turns the errors of the library into ours."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and isinstance(error, library("redis", "redis").RedisError):
            raise ReturnerError(f"redis: {error}") from error
