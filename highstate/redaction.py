"""What is secret, taken out of what is shown: diffs, comments, events, logs, errors, previews.

A compile knows which plain texts went into it (decrypted messages, answers of a vault): its lineage. Whatever a
template made of them, text that holds one of them is shown with a keyed fingerprint in its place, so that a change can
be seen and the value can not. Used by the controller for plans and errors, by the minion before a result leaves it.

A text that a template computed from a secret (a hash, a part of it) is not found; its base64, JSON and URL forms are.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from highstate.types import Value

SHORTEST = 5
"""Characters. What is shorter is taken out where it is a whole value, and left where it is part of a text: masking
every `yes` would hide more of what happened than of the secret."""
_SHORTEST_LINE = 8
"""Characters of one line of a longer secret: a diff shows single lines of a private key."""
_SECRET_NAME = re.compile(
    r"passw|passphrase|secret|token|credential|(?:private|api|access|auth)[-_]?key|(?:^|[-_:])(?:pwd|psk)(?:$|[-_:])",
    re.IGNORECASE,
)
"""In the names of arguments and keys."""
_MASKED = re.compile(r"<secret(?: [0-9a-f]{8})?>")
_FRAME = re.compile(r"-----(BEGIN|END) [A-Z ]+-----\Z")
_PLACE = "\ue000{}\ue001"
"""Stands for a secret while others are looked for, so that no fingerprint is taken for one."""
_PLACED = re.compile("\ue000([0-9]+)\ue001")


def fingerprint(key: bytes, secret: str) -> str:
    """Eight hexadecimal digits that tell two secrets apart, and tell nothing to who has not the key."""
    return hmac.new(key, secret.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:8]


def fingerprints(key: bytes, secrets: Iterable[str]) -> dict[str, str]:
    """Secret -> fingerprint, as documents carry them."""
    return {secret: fingerprint(key, secret) for secret in sorted(secrets)}


def secret_texts(value: Value) -> frozenset[str]:
    """All texts in a value that came whole from a vault or a decrypted message; numbers as they are written."""
    return frozenset(_texts(value))


def without(text: str, secrets: Iterable[str]) -> str:
    """`text` with `<secret>` in the place of each of these: for errors in which a server repeats what it was told.

    Args:
        text: of an error.
        secrets: those of fewer than `SHORTEST` characters stay.
    """
    for form in sorted({form for secret in secrets if secret for form in _forms(secret)}, key=len, reverse=True):
        text = text.replace(form, "<secret>")
    return text


class Redaction:
    """Takes a minion's secrets out of what is shown of it.

    Args:
        known: secret -> fingerprint.
        key: of fingerprints of what only its name says is secret; without one these have none.
    """

    def __init__(self, known: Mapping[str, str], key: bytes = b"") -> None:
        self._known = known
        self._key = key
        self._marks: list[str] = []
        self._forms: list[tuple[str, int]] = []
        """Text to look for -> index of its mark; the longest first, so that a part never hides a whole."""
        for secret, digits in known.items():
            if secret:
                self._forms += [(form, len(self._marks)) for form in _forms(secret)]
                self._marks.append(f"<secret {digits}>")
        self._forms.sort(key=lambda form: (-len(form[0]), form[0]))

    def text(self, text: str) -> str:
        """`text` with a fingerprint in the place of each secret."""
        return self._masked(text, self._forms)

    def value(self, value: Value) -> Value:
        """Plain data with every text in it masked, keys of mappings included; the same object when there is nothing."""
        if not self._known:
            return value
        whole = "\0".join(_all_texts(value))
        found = [form for form in self._forms if form[0] in whole]
        short = any(len(text) < SHORTEST and text in self._known for text in _all_texts(value))
        return self._deep(value, found) if found or short else value

    def named(self, path: str, value: Value) -> Value:
        """Plain data with a fingerprint in the place of each text or number whose name says that it is a secret.

        Args:
            path: names that lead to the value, with colons between.
            value: after `value`.
        """
        if isinstance(value, Mapping):
            return {key: self.named(f"{path}:{key}", inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.named(path, inner) for inner in value]
        if not _SECRET_NAME.search(path) or isinstance(value, bool) or not isinstance(value, str | int | float):
            return value
        text = str(value)
        if not text or _MASKED.fullmatch(text):
            return value
        return f"<secret {fingerprint(self._key, text)}>" if self._key else "<secret>"

    def _deep(self, value: Value, forms: list[tuple[str, int]]) -> Value:
        if isinstance(value, str):
            if len(value) < SHORTEST and value in self._known:
                return f"<secret {self._known[value]}>"
            return self._masked(value, forms)
        if isinstance(value, Mapping):
            return {self._deep(key, forms): self._deep(inner, forms) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self._deep(inner, forms) for inner in value]
        if isinstance(value, bytes):
            return self._deep(value.decode("utf-8", "replace"), forms)
        if isinstance(value, int | float) and str(value) in self._known:
            return f"<secret {self._known[str(value)]}>"
        return value

    def _masked(self, text: str, forms: Iterable[tuple[str, int]]) -> str:
        placed = text.replace("\ue000", "")
        for form, mark in forms:
            if form in placed:
                placed = placed.replace(form, _PLACE.format(mark))
        return _PLACED.sub(lambda found: self._marks[int(found[1])], placed)


NOTHING_SECRET = Redaction({})
"""Shows all as it is."""


def _forms(secret: str) -> set[str]:
    """How a secret may stand in a text: as it is, line by line, and as other formats write it."""
    if len(secret) < SHORTEST:
        return set()
    packed = base64.b64encode(secret.encode("utf-8", "surrogatepass")).decode()
    quoted = json.dumps(secret)[1:-1]
    forms = {secret, packed, packed.rstrip("="), quoted, json.dumps(secret, ensure_ascii=False)[1:-1]}
    forms |= {repr(secret)[1:-1], quote(secret, safe="", errors="replace")}
    lines = [line.strip() for line in secret.splitlines()]
    if len(lines) > 1:
        forms |= {line for line in lines if len(line) >= _SHORTEST_LINE and not _FRAME.match(line)}
        forms |= {text for text in _as_data(secret) if len(text) >= SHORTEST}
    return forms


def _as_data(secret: str) -> Iterable[str]:
    """The values of a message that is itself YAML or JSON: with `#!gpg|yaml` they become values of their own."""
    import yaml  # where errors are told without secrets it may be missing in memory

    try:
        data = yaml.load(secret, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - a safe loader
    except (yaml.YAMLError, ValueError, RecursionError):
        return ()
    return _texts(data) if isinstance(data, dict | list) else ()


def _texts(value: Value) -> Iterable[str]:
    """Texts and numbers, keys excepted."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def _all_texts(value: Value) -> Iterable[str]:
    """Texts of any kind, keys and bytes included."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _all_texts(key)
            yield from _all_texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _all_texts(inner)
    elif isinstance(value, bytes):
        yield value.decode("utf-8", "replace")
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)
