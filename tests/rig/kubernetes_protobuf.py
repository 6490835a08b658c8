"""The few objects that Helm sends in protobuf, as JSON has them: secrets, namespaces, options of a deletion.

Numbers of fields: generated.proto of k8s.io/api/core/v1 and k8s.io/apimachinery/pkg/apis/meta/v1.
"""

import base64
from collections.abc import Iterator
from typing import Any

MEDIA = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        if tag & 7 == 0:
            value, at = _varint(data, at)
            yield tag >> 3, value
        else:
            assert tag & 7 == 2, "a field of another form"
            length, at = _varint(data, at)
            yield tag >> 3, data[at : at + length]
            at += length


def _pair(data: bytes) -> tuple[str, bytes]:
    found = dict(_fields(data))
    return found.get(1, b"").decode(), found.get(2, b"")


def _metadata(data: bytes) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for number, value in _fields(data):
        if number in (1, 3, 5, 6) and value:
            made[{1: "name", 3: "namespace", 5: "uid", 6: "resourceVersion"}[number]] = value.decode()
        elif number in (11, 12):
            key, text = _pair(value)
            made.setdefault({11: "labels", 12: "annotations"}[number], {})[key] = text.decode()
    return made


def decoded(body: bytes) -> dict[str, Any]:
    """The object of a request."""
    assert body.startswith(_MAGIC)
    envelope = dict(_fields(body[len(_MAGIC) :]))
    kind = {number: value.decode() for number, value in _fields(envelope[1])}
    made: dict[str, Any] = {"apiVersion": kind[1], "kind": kind[2]}
    for number, value in _fields(envelope.get(2, b"")):
        if made["kind"] == "DeleteOptions":
            if number == 4:
                made["propagationPolicy"] = value.decode()
        elif number == 1:
            made["metadata"] = _metadata(value)
        elif made["kind"] == "Secret" and number == 2:
            key, content = _pair(value)
            made.setdefault("data", {})[key] = base64.b64encode(content).decode()
        elif made["kind"] == "Secret" and number == 3:
            made["type"] = value.decode()
    return made
