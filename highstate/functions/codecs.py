"""hashutil.*, jinja.*, and the reading and writing functions of slsutil."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from typing import Any

import yaml

from highstate.functions.call import FunctionCall, FunctionFailed
from highstate.memo.tracked import plain
from highstate.types import Value


def _bytes(value: Value) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def _digest(call: FunctionCall, instr: Value, checksum: str = "md5") -> str:
    if checksum not in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512"):
        raise FunctionFailed(f"hashutil.digest knows no checksum {checksum!r}")
    return hashlib.new(checksum, _bytes(instr), usedforsecurity=False).hexdigest()


def _hmac(text: Value, secret: Value) -> bytes:
    return hmac.new(_bytes(secret), _bytes(text), hashlib.sha256).digest()


def _hmac_signature(call: FunctionCall, string: Value, shared_secret: Value, challenge_hmac: Value) -> bool:
    return hmac.compare_digest(base64.b64encode(_hmac(string, shared_secret)), _bytes(challenge_hmac))


def _serialize(call: FunctionCall, serializer: str, obj: Value, **options: Any) -> str:
    data = plain(obj)
    if serializer == "json":
        return json.dumps(data, **options)
    if serializer == "yaml":
        text: str = yaml.safe_dump(data, **{"default_flow_style": None, **options})
        return text.removesuffix("\n...\n").removesuffix("\n")
    raise FunctionFailed(f"slsutil.serialize knows json and yaml, not {serializer!r}")


def _deserialize(call: FunctionCall, serializer: str, stream_or_string: str, **options: Any) -> Value:
    if serializer not in ("json", "toml", "yaml", "yamlex"):
        raise FunctionFailed(f"slsutil.deserialize knows json, toml, yaml and yamlex, not {serializer!r}")
    return call.render(stream_or_string, serializer, {})


def _renderer(
    call: FunctionCall,
    path: str | None = None,
    string: str | None = None,
    default_renderer: str = "jinja|yaml",
    **variables: Value,
) -> Value:
    """A file of the tree or a string through a pipeline; a first `#!` line chooses another one."""
    if (path is None) == (string is None):
        raise FunctionFailed("slsutil.renderer takes either a path or a string")
    text = string or ""
    if path is not None:
        inner = path.removeprefix("salt://")
        if call.recorder.oid(inner, call.saltenv) is None:
            raise FunctionFailed(f"slsutil.renderer: there is no file salt://{inner} in saltenv {call.saltenv}")
        text = call.recorder.read_file(inner, call.saltenv).decode("utf-8-sig")
    first = text.partition("\n")[0]
    if first.startswith("#!") and not first.startswith("#!/"):
        default_renderer = first.removeprefix("#!").strip()
    return call.render(text, default_renderer, variables)


def _load_map(call: FunctionCall, path: str, value: str) -> Value:
    """A variable of a template of the tree."""
    if not value.isidentifier():
        raise FunctionFailed(f"jinja.load_map: {value!r} is no name of a variable")
    source = f"{{% from {_quoted(path)} import {value} with context %}}{{{{ {value} | tojson }}}}"
    return call.render(source, "jinja|json", {})


def _imported(kind: str) -> Callable[..., Value]:
    """`jinja.import_yaml` and `jinja.import_json`."""

    def load(call: FunctionCall, path: str) -> Value:
        source = f"{{% import_{kind} {_quoted(path)} as imported %}}{{{{ imported | tojson }}}}"
        return call.render(source, "jinja|json", {})

    return load


def _quoted(path: str) -> str:
    if any(sign in path for sign in "'\"\\{}\n"):
        raise FunctionFailed(f"{path!r} is no path of the tree")
    return f'"{path.removeprefix("salt://")}"'


def _boolstr(call: FunctionCall, value: Value, true: str = "true", false: str = "false") -> str:
    return true if value else false


FUNCTIONS: Mapping[str, Callable[..., Value]] = {
    "hashutil.digest": _digest,
    "hashutil.md5_digest": lambda call, instr: _digest(call, instr, "md5"),
    "hashutil.sha256_digest": lambda call, instr: _digest(call, instr, "sha256"),
    "hashutil.sha512_digest": lambda call, instr: _digest(call, instr, "sha512"),
    "hashutil.base64_b64encode": lambda call, instr: base64.b64encode(_bytes(instr)).decode(),
    "hashutil.base64_b64decode": lambda call, instr: base64.b64decode(_bytes(instr)).decode(),
    "hashutil.base64_encodestring": lambda call, instr: base64.encodebytes(_bytes(instr)).decode(),
    "hashutil.base64_decodestring": lambda call, instr: base64.decodebytes(_bytes(instr)).decode(),
    "hashutil.hmac_signature": _hmac_signature,
    "hashutil.hmac_compute": lambda call, string, shared_secret: _hmac(string, shared_secret).hex(),
    "jinja.load_map": _load_map,
    "jinja.import_yaml": _imported("yaml"),
    "jinja.import_json": _imported("json"),
    "slsutil.serialize": _serialize,
    "slsutil.deserialize": _deserialize,
    "slsutil.renderer": _renderer,
    "slsutil.boolstr": _boolstr,
}
