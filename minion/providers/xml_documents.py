"""Elements of XML documents: found by a path of ElementTree's, and changed in place.

Called by the state and the execution module `xml`. Whatever else is in the document (its declaration, comments, blanks,
names of namespaces) stays as it is: the element's text or its start tag alone is written anew.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from xml.etree import ElementTree
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from minion.machine.failure import StateFailed

_TAG = re.compile(rb"""<[^\s/>]+(?:\s+[^\s=/>]+\s*=\s*(?:"[^"]*"|'[^']*'))*\s*(?P<empty>/?)>""")
_ENCODING = re.compile(rb"""<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
_WIDE = (b"\xff\xfe", b"\xfe\xff", b"\x00<", b"<\x00")
"""How documents of UTF-16 begin, whose bytes no pattern fits."""


class _Place(NamedTuple):
    """Where an element stands: bytes from the beginning of the document."""

    start: int
    text: int
    """Where its text begins, behind the start tag."""
    end: int
    """Where its text ends: at its first child or its end tag."""


class XmlDocument:
    """A document that is read once."""

    def __init__(self, data: bytes, path: str) -> None:
        """`path` is for messages. StateFailed where the document is none."""
        self._data = data
        if data.startswith(_WIDE):
            raise StateFailed(f"{path} is in UTF-16, which cannot be changed in place")
        try:
            self._root = ElementTree.fromstring(data)  # noqa: S314  (expat refuses entities that unfold without end)
        except ElementTree.ParseError as error:
            raise StateFailed(f"{path} is no XML document: {error}") from error
        declared = _ENCODING.match(data)
        self._encoding = declared[1].decode() if declared else "utf-8"

    def find(self, xpath: str) -> ElementTree.Element | None:
        """The first element that a path leads to."""
        try:
            return self._root.find(xpath)
        except (SyntaxError, LookupError, RuntimeError, StopIteration, TypeError) as error:  # as it comes
            raise StateFailed(f"xpath {xpath!r} cannot be read: {error}") from error

    def with_text(self, element: ElementTree.Element, value: str) -> bytes:
        """The document, with this as the element's text."""
        place = self._place(element)
        tag = self._tag(place)
        text = self._encoded(escape(value))
        if tag["empty"]:
            name = re.match(rb"<([^\s/>]+)", tag[0])
            opened = tag[0].removesuffix(b"/>").rstrip() + b">"
            new = opened + text + b"</" + (name[1] if name else b"") + b">"
            return self._data[: place.start] + new + self._data[place.start + len(tag[0]) :]
        return self._data[: place.text] + text + self._data[place.end :]

    def with_attribute(self, element: ElementTree.Element, key: str, value: str) -> bytes:
        """The document, with this attribute of the element."""
        if not re.fullmatch(r"[A-Za-z_][\w.:-]*", key):
            raise StateFailed(f"{key!r} is no name of an attribute")
        place = self._place(element)
        tag = self._tag(place)[0]
        new = self._encoded(f" {key}={quoteattr(value)}")
        old = re.compile(rb"""\s+""" + re.escape(key.encode()) + rb"""\s*=\s*(?:"[^"]*"|'[^']*')""")
        found = old.search(tag)
        if found:
            changed = tag[: found.start()] + new + tag[found.end() :]
        else:
            close = b"/>" if tag.endswith(b"/>") else b">"
            changed = tag.removesuffix(close).rstrip() + new + close
        return self._data[: place.start] + changed + self._data[place.start + len(tag) :]

    def _encoded(self, text: str) -> bytes:
        try:
            return text.encode(self._encoding, "xmlcharrefreplace")
        except LookupError as error:
            raise StateFailed(f"the encoding {self._encoding} is not known") from error

    def _tag(self, place: _Place) -> re.Match[bytes]:
        found = _TAG.match(self._data, place.start)
        if found is None:
            raise StateFailed("the element's tag cannot be changed in place")
        return found

    def _place(self, element: ElementTree.Element) -> _Place:
        """Where the element stands: it is the same number in the document as in the tree."""
        wanted = next(number for number, one in enumerate(self._root.iter()) if one is element)
        parser = expat.ParserCreate()
        seen = -1
        found: list[int] = []

        def started(name: str, attributes: dict[str, str]) -> None:
            nonlocal seen
            seen += 1
            if seen == wanted or len(found) == 1:
                found.append(parser.CurrentByteIndex)

        def ended(name: str) -> None:
            if len(found) == 1:
                found.append(parser.CurrentByteIndex)

        parser.StartElementHandler = started
        parser.EndElementHandler = ended
        parser.Parse(self._data, True)
        start, end = found[0], found[1]
        tag = _TAG.match(self._data, start)
        return _Place(start, start + len(tag[0]) if tag else start, end)
