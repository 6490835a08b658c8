"""The execution module `http`: what a server answers. TLS is verified against the system's authorities.

Behaviour: doc/ref/modules/all/salt.modules.http.
"""

from __future__ import annotations

import http.cookiejar
import json
import posixpath
import time
from collections.abc import Mapping
from typing import Annotated, Any, TypedDict, Unpack

from extmods.salt_compat.utils import http as requests
from minion.arguments.types import AnyValue, Ignored, ListOfTexts, Map, Seconds, Texts, Unsupported
from minion.execution.context import Context
from minion.execution.errors import CallFailed

_Python = Annotated[AnyValue, Unsupported("it is for Python code; use http.query without it")]
_Backend = Annotated[AnyValue, Ignored("there is one way to ask, with what all of Salt's know")]


class QueryOptions(TypedDict, total=False):
    """What is asked and shown, as `extmods.salt_compat.utils.http.ask` has it; null is its default."""

    params: Map | None
    data: AnyValue
    data_file: str | None
    data_render: bool
    data_renderer: str | None
    header_dict: Map | None
    header_list: ListOfTexts | None
    header_file: str | None
    header_render: bool
    header_renderer: str | None
    template_dict: Map | None
    username: str | None
    password: str | None
    auth: ListOfTexts | None
    decode: bool
    decode_type: str | None
    text: bool
    status: bool
    headers: bool
    timeout: Seconds | None
    raise_error: bool | None
    test: bool
    test_url: str | None
    agent: str | None
    verify_ssl: bool | None
    ca_bundle: str | None
    cert: Texts | None
    cookies: bool
    cookie_jar: str | None
    cookie_format: str
    formdata: bool
    formdata_fieldname: str | None
    formdata_filename: str | None
    text_out: str | None
    headers_out: str | None
    decode_out: str | None
    decode_body: Annotated[AnyValue, Ignored("answers are texts")]
    backend: _Backend
    node: _Backend
    port: Annotated[AnyValue, Ignored("the port is the URL's")]
    hide_fields: Annotated[AnyValue, Ignored("URLs are not logged")]
    persist_session: Annotated[AnyValue, Unsupported("use cookies with cookie_jar")]
    session_cookie_jar: Annotated[AnyValue, Unsupported("use cookies with cookie_jar")]
    opts: _Python
    stream: _Python
    streaming_callback: _Python
    header_callback: _Python
    handle: _Python


def query(context: Context, url: str, method: str = "GET", **options: Unpack[QueryOptions]) -> dict[str, Any]:
    """Ask a server: `body`, and as asked for `text`, `dict` (decoded), `status` and `headers`; or `error`.

    `data_file` and `header_file` are files of this machine, or of `salt://`; with `data_render` they are templates.
    `text_out`, `headers_out` and `decode_out` are files that the parts are written to. With `test` nothing is asked, or
    `test_url` instead.
    """
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    is_test, test_url = given.pop("test", False), given.pop("test_url", None)
    if is_test and test_url is None:
        return {}
    outputs = {part: given.pop(f"{part}_out", None) for part in ("text", "headers", "decode")}
    try:
        jar, form = _jar(context, given), _form(given)
        asked = {**_from_files(context, given), "jar": jar, "form": form}
        shown = {"text": "text", "headers": "headers", "decode": "dict"}
        kept = {part: True for part, path in outputs.items() if path}
        answer: dict[str, Any] = requests.ask(test_url if is_test else url, method, **{**asked, **kept})
        if jar is not None:
            jar.save(ignore_discard=True)
    except requests.HttpFailed as error:
        raise CallFailed(str(error)) from error
    for part, path in outputs.items():
        if path and shown[part] in answer:
            _write(context, path, answer[shown[part]])
    return {**answer, "test": True} if is_test else answer


def wait_for_successful_query(
    context: Context,
    url: str,
    wait_for: Seconds = 300,
    request_interval: Seconds = 1,
    method: str = "GET",
    **options: Unpack[QueryOptions],
) -> dict[str, Any]:
    """Ask a server again and again, until it answers or the seconds are over."""
    end = time.monotonic() + wait_for
    while True:
        answer = query(context, url, method, **options)
        if "error" not in answer:
            return answer
        if time.monotonic() + request_interval > end:
            raise CallFailed(f"{url} did not answer within {wait_for} seconds: {answer['error']}")
        time.sleep(max(request_interval, 0.01))


def _jar(context: Context, given: dict[str, Any]) -> http.cookiejar.FileCookieJar | None:
    """Cookies of a file, which is made where it is not there; none where they are not asked for."""
    path, kind = given.pop("cookie_jar", None), given.pop("cookie_format", "lwp")
    if not given.pop("cookies", False):
        return None
    kinds = {"lwp": http.cookiejar.LWPCookieJar, "mozilla": http.cookiejar.MozillaCookieJar}
    if kind not in kinds:
        raise CallFailed(f"cookie_format is one of {', '.join(kinds)}")
    jar = kinds[kind](path or posixpath.join(str(context.machine.opts.get("cachedir", "/tmp")), "cookies.txt"))  # noqa: S108
    if context.machine.stat(str(jar.filename)) is None:
        context.machine.write(str(jar.filename), b"#LWP-Cookies-2.0\n" if kind == "lwp" else b"", mode="0600")
    try:
        jar.load(ignore_discard=True)
    except http.cookiejar.LoadError as error:
        if context.machine.read(str(jar.filename)).strip():
            raise CallFailed(str(error)) from error
    return jar


def _from_files(context: Context, given: dict[str, Any]) -> dict[str, Any]:
    """What `ask` takes, with the contents of files in place of their names."""
    variables = given.pop("template_dict", {})
    for kind, key in (("data", "data"), ("header", "header_list")):
        path, renders = given.pop(f"{kind}_file", None), given.pop(f"{kind}_render", False)
        renderer = given.pop(f"{kind}_renderer", "jinja")
        if path:
            text = _read(context, path)
            if renders:
                text = context.machine.render_text(text.decode(), renderer, "base", variables)
            given[key] = text if kind == "data" else text.decode().splitlines()
    if "cert" in given:
        given["cert"] = given["cert"][0] if len(given["cert"]) == 1 else given["cert"]
    return given


def _form(given: dict[str, Any]) -> tuple[str, str] | None:
    is_form, field = given.pop("formdata", False), given.pop("formdata_fieldname", None)
    filename = given.pop("formdata_filename", None)
    if not is_form:
        return None
    if not field:
        raise requests.HttpFailed("formdata_fieldname is required when formdata=True")
    return field, filename or field


def _read(context: Context, path: str) -> bytes:
    if path.startswith("salt://"):
        return context.machine.source(path.removeprefix("salt://"))
    return context.machine.read(path)


def _write(context: Context, path: str, value: Any) -> None:
    text = value if isinstance(value, str) else json.dumps(value)
    context.machine.write(path, text.encode())


FUNCTIONS: Mapping[str, Any] = {"query": query, "wait_for_successful_query": wait_for_successful_query}
