"""Salt's filter `xml`: data as an XML document, indented. Source: salt/utils/jinja.py `SerializerExtension`.

Called by `filters`. A mapping is an element: its scalars are attributes, what it holds besides are elements in it; a
list is several elements of the same name, and a scalar in one is its text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from jinja2.exceptions import TemplateRuntimeError
from markupsafe import Markup

from highstate.memo.tracked import plain
from highstate.types import Value

if TYPE_CHECKING:
    from xml.dom.minidom import Document, Element


def xml(value: Value) -> Markup:
    """The document whose root is the last key of a mapping. TemplateRuntimeError for what has no root."""
    from xml.dom.minidom import Document

    document = Document()
    pairs = _pairs(plain(value))
    if not pairs or isinstance(pairs[-1][1], list):
        raise TemplateRuntimeError("xml needs a mapping whose last key names one element, the root")
    tag, content = pairs[-1]
    root = document.createElement(str(tag))
    document.appendChild(root)
    _fill(document, root, content)
    return Markup(document.toprettyxml(indent=" "))  # noqa: S704  (as Salt gives it; SLS are not HTML)


def _fill(document: Document, element: Element, content: Value) -> None:
    if isinstance(content, str | int | float):
        if str(content):
            element.appendChild(document.createTextNode(str(content)))
        return
    for name, value in _pairs(content):
        if not isinstance(value, Mapping | list):
            element.setAttribute(str(name), str(value))
            continue
        for one in value if isinstance(value, list) else [value]:
            below = document.createElement(str(name))
            element.appendChild(below)
            _fill(document, below, one)


def _pairs(value: Value) -> list[tuple[Value, Value]]:
    if not isinstance(value, Mapping):
        raise TemplateRuntimeError(f"xml needs mappings, lists and scalars, not {type(value).__name__}")
    items: Iterable[tuple[Value, Value]] = value.items()
    return list(items)
