"""Elasticsearch and what speaks its API (OpenSearch): the indices and documents of Salt's returner of this name.

A return goes to `salt-FUN`, events to `salt-master-event-cache`, jobs to `salt-master-job-cache`; those names may be
aliases. Documents have ids (jid and minion), so that one that comes twice is there once.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from minion.returners.errors import ReturnerError
from minion.returners.http import request
from minion.returners.options import options_of, times

DEFAULTS = {
    "host": "localhost:9200",
    "hosts": None,
    "use_ssl": False,
    "verify_certs": True,
    "username": "",
    "password": "",
    "timeout": 20,
    "index_date": False,
    "functions_blacklist": (),
    "master_event_index": "salt-master-event-cache",
    "master_job_cache_index": "salt-master-job-cache",
}


def returner(opts: Mapping[str, Any], ret: Mapping[str, Any]) -> None:
    """Keep a return."""
    found = options_of("elasticsearch", opts, DEFAULTS, ret)
    if ret["fun"] in (found["functions_blacklist"] or ()):
        return
    body = {
        "@timestamp": _now(),
        "success": bool(ret.get("success")),
        "retcode": ret.get("retcode", 0),
        "minion": ret["id"],
        "fun": ret["fun"],
        "jid": ret["jid"],
        "counts": _counts(ret.get("return")),
        "data": _without_dots(ret.get("return")),
    }
    fun = str(ret["fun"]).replace(".", "_")
    _put(found, _index(found, f"salt-{fun}"), f"{ret['jid']}-{ret['id']}", body)
    _put(found, found["master_job_cache_index"] + "-returns", f"{ret['jid']}-{ret['id']}", _kept(ret))


def event_return(opts: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> None:
    """Keep events, in one request."""
    found = options_of("elasticsearch", opts, DEFAULTS)
    index = _index(found, str(found["master_event_index"]))
    lines = []
    for event in events:
        lines.append(json.dumps({"index": {"_index": index, "_id": event["name"]}}))
        body = {"@timestamp": event["data"].get("_stamp", _now()), "tag": event["tag"]}
        lines.append(json.dumps({**body, "data": json.dumps(event["data"], default=str)}))
    answer = _ask(found, "POST", "/_bulk", ("\n".join(lines) + "\n").encode(), "application/x-ndjson")
    if isinstance(answer, Mapping) and answer.get("errors"):
        raise ReturnerError(f"elasticsearch: not all events were taken: {json.dumps(answer)[:300]}")


def save_load(opts: Mapping[str, Any], jid: str, load: Mapping[str, Any]) -> None:
    """Keep what was asked for."""
    found = options_of("elasticsearch", opts, DEFAULTS)
    _put(found, str(found["master_job_cache_index"]), jid, {"jid": jid, "load": _without_dots(load)})


def get_load(opts: Mapping[str, Any], jid: str) -> dict[str, Any]:
    """What was asked for; empty when the job is not known."""
    found = options_of("elasticsearch", opts, DEFAULTS)
    loads = _search(found, str(found["master_job_cache_index"]), jid, 1)
    return dict(loads[0]["load"]) if loads else {}


def get_jid(opts: Mapping[str, Any], jid: str) -> dict[str, Any]:
    """Minion -> its return."""
    found = options_of("elasticsearch", opts, DEFAULTS)
    hits = _search(found, found["master_job_cache_index"] + "-returns", jid, 10_000)
    return {hit["minion"]: json.loads(hit["full_ret"]) for hit in hits}


def _kept(ret: Mapping[str, Any]) -> dict[str, Any]:
    return {"jid": ret["jid"], "minion": ret["id"], "full_ret": json.dumps(ret, default=str)}


def _put(found: Mapping[str, Any], index: str, name: str, body: Mapping[str, Any]) -> None:
    path = f"/{quote(index, safe='')}/_doc/{quote(name, safe='')}"
    _ask(found, "PUT", path, json.dumps(body, default=str).encode())


def _search(found: Mapping[str, Any], index: str, jid: str, most: int) -> list[dict[str, Any]]:
    asked = {"size": most, "query": {"match": {"jid": {"query": jid, "operator": "and"}}}}
    path = f"/{quote(index, safe='')}/_search?ignore_unavailable=true"
    answer = _ask(found, "POST", path, json.dumps(asked).encode())
    sources = [hit["_source"] for hit in answer["hits"]["hits"]]
    return [source for source in sources if source["jid"] == jid]


def _ask(found: Mapping[str, Any], method: str, path: str, body: bytes, kind: str = "application/json") -> Any:
    hosts = found["hosts"] or found["host"]
    host = str(hosts[0] if isinstance(hosts, list | tuple) and hosts else hosts)
    if "://" not in host:
        host = ("https://" if found["use_ssl"] else "http://") + host
    return request(
        method,
        host.rstrip("/") + path,
        body,
        content_type=kind,
        user=str(found["username"] or ""),
        password=str(found["password"] or ""),
        timeout=times(found["timeout"], 20.0),
        verify=bool(found["verify_certs"]),
    )


def _index(found: Mapping[str, Any], name: str) -> str:
    name = name.lower()
    return f"{name}-{datetime.datetime.now(datetime.UTC):%Y.%m.%d}" if found["index_date"] else name


def _without_dots(value: Any) -> Any:
    """A dot in a key would be a level: as in Salt it is an underscore, and the key stands beside it."""
    if isinstance(value, list | tuple):
        return [_without_dots(one) for one in value]
    if not isinstance(value, Mapping):
        return value
    found: dict[str, Any] = {}
    for key, one in value.items():
        if "." in str(key):
            found["_orig_key"] = str(key)
        found[str(key).replace(".", "_")] = _without_dots(one)
    return found


def _counts(value: Any) -> dict[str, int]:
    """How many states of a run succeeded and failed."""
    states = [one for one in value.values() if isinstance(one, Mapping)] if isinstance(value, Mapping) else []
    results = [one["result"] for one in states if "result" in one]
    return {"suceeded": sum(one is not False for one in results), "failed": results.count(False)}


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat()
