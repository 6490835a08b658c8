"""`salt.utils.url` and `salt.utils.http`: addresses, and what they give."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit


def parse(url: str) -> tuple[str, str | None]:
    """Path and saltenv of `salt://path?saltenv=env`."""
    path, _, env = url.removeprefix("salt://").partition("?saltenv=")
    return path, env or None


def create(path: str, saltenv: str | None = None) -> str:
    """The other way round."""
    return f"salt://{path}" + (f"?saltenv={saltenv}" if saltenv else "")


def split_env(url: str) -> tuple[str, str | None]:
    """The address without its saltenv, and that."""
    bare, _, env = url.partition("?saltenv=")
    return bare, env or None


def add_env(url: str, saltenv: str) -> str:
    """With another saltenv."""
    return f"{split_env(url)[0]}?saltenv={saltenv}" if url.startswith("salt://") else url


def validate(url: str, protos: Any) -> bool:
    """Whether it has one of some schemes."""
    scheme = urlsplit(url).scheme
    return not scheme if not protos else scheme in protos


def strip_proto(url: str) -> str:
    """Without its scheme."""
    return url.split("://", 1)[-1]


def redact_http_basic_auth(output: str) -> str:
    """Without the passwords in addresses."""
    import re

    return re.sub(r"(https?://)[^@/]*@", r"\1<redacted>@", output)


def query(url: str, method: str = "GET", params: Any = None, data: Any = None, **options: Any) -> dict[str, Any]:
    """Ask over HTTP, as `salt.utils.http.query`: `body`, `status`, `headers`, `dict` as far as they are asked for.

    Besides: decode, decode_type, header_dict, username, password, status, headers, text, timeout, verify_ssl,
    raise_error. What else Salt takes is not looked at.
    """
    import httpx

    auth = (options["username"], options.get("password") or "") if options.get("username") else None
    try:
        answer = httpx.request(
            method,
            url,
            params=params,
            content=data if isinstance(data, str | bytes) else None,
            data=data if isinstance(data, dict) else None,
            headers=options.get("header_dict"),
            auth=auth,
            timeout=options.get("timeout") or 30,
            verify=options.get("verify_ssl") is not False,
            follow_redirects=True,
        )
    except httpx.HTTPError as error:
        return {"error": str(error)}
    given: dict[str, Any] = {"body": answer.text}
    if options.get("status"):
        given["status"] = answer.status_code
    if options.get("headers"):
        given["headers"] = dict(answer.headers)
    if options.get("decode") and options.get("decode_type", "json") in ("json", "auto"):
        given["dict"] = json.loads(answer.text or "null")
    if answer.is_error and options.get("raise_error", True):
        given["error"] = f"HTTP {answer.status_code}: {answer.reason_phrase}"
        given["status"] = answer.status_code
    return given
