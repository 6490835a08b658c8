"""Bodies of requests and answers in the forms that salt-api knows: JSON, YAML, and forms.

Source: the processors of salt/netapi/rest_cherrypy/app.py (`hypermedia_in`, `hypermedia_out`, `lowdata_fmt`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qs

import msgspec
import yaml
from litestar import Request, Response
from litestar.datastructures.headers import Accept

from controller.api import encoding
from controller.schema.errors import ServiceError
from highstate.salt_yaml import load_whole
from options.yaml_bounds import refuse_depth

JSON: Final = "application/json"
YAML: Final = "application/x-yaml"
_YAMLS = (YAML, "text/yaml", "application/yaml")
FORM: Final = "application/x-www-form-urlencoded"
_MOST_FIELDS = 1000
"""Of a form."""
_HERE = 64 * 1024
"""Bytes of YAML that the loop reads or writes itself; a thread does more."""


class NotAcceptable(Exception):
    """The form of a body is not one of these (406)."""


async def data_of(request: Request[Any, Any, Any]) -> Any:
    """What a body says; None for an empty one.

    Raises:
        NotAcceptable: it is in another form.
        ServiceError: it cannot be read.
    """
    body = await request.body()
    if not body:
        return None
    form = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if form in _YAMLS and len(body) > _HERE:
        return await asyncio.to_thread(read, form, body)
    return read(form, body)


def read(form: str, body: bytes) -> Any:
    """The same of a content type and a body."""
    try:
        text = body.decode()
        if form == FORM:
            return _form(text)
        if form == JSON:
            return msgspec.json.decode(body)
        if form in _YAMLS:
            return _yaml(text)
        if form == "text/plain":
            return _json_or_text(text)
    except (UnicodeDecodeError, ValueError, RecursionError, yaml.YAMLError) as error:
        said = " ".join(str(error).split())[:300]
        raise ServiceError("bad-request", f"Invalid {_NAMES.get(form, 'form')} document: {said}") from None
    raise NotAcceptable("Content type not supported")


_NAMES = {JSON: "JSON", **dict.fromkeys(_YAMLS, "YAML")}


def _form(text: str) -> dict[str, Any]:
    """Fields; those that come several times, and `arg` always, are lists."""
    found = parse_qs(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    return {name: values[0] if len(values) == 1 and name != "arg" else values for name, values in found.items()}


def _yaml(text: str) -> Any:
    refuse_depth(text)
    if "*" in text and any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text, yaml.CSafeLoader)):
        raise ValueError("aliases are not taken")
    return load_whole(text)


def _json_or_text(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def lowstate_of(data: Any, most: int) -> list[dict[str, Any]]:
    """The chunks of a body: a mapping is one of them. ServiceError for what is none, and for more than `most`."""
    chunks = [data] if isinstance(data, Mapping) else data
    if not isinstance(chunks, list) or not all(isinstance(each, Mapping) for each in chunks):
        raise ServiceError("bad-request", "Lowstates must be a list")
    if len(chunks) > most:
        hint = "send several requests, or raise limits: salt_api: chunks"
        raise ServiceError("bad-request", f"a request has up to {most} chunks", hint=hint)
    return [{str(name): value for name, value in each.items()} for each in chunks]


def form_of_answer(request: Request[Any, Any, Any]) -> str:
    """JSON or YAML, as the request accepts it; NotAcceptable for neither."""
    header = request.headers.get("accept", "")
    form = Accept(header).best_match([JSON, YAML]) if header else JSON
    if form is None:
        raise NotAcceptable(f"an answer is {JSON} or {YAML}")
    return form


async def answer(request: Request[Any, Any, Any], value: Any, status: int = 200) -> Response[bytes]:
    """An answer in the form that is accepted; NotAcceptable."""
    form = form_of_answer(request)
    content = encoding.encode(value)
    if form == YAML:
        content = _to_yaml(content) if len(content) <= _HERE else await asyncio.to_thread(_to_yaml, content)
    return Response(content, media_type=form, status_code=status)


def _to_yaml(content: bytes) -> bytes:
    plain = msgspec.json.decode(content)
    text: str = yaml.dump(plain, Dumper=yaml.CSafeDumper, default_flow_style=False, allow_unicode=True)
    return text.encode()
