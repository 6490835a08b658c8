"""The execution module `xml`: elements of XML documents.

Behaviour: doc/ref/modules/all/salt.modules.xml.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.execution.context import Context
from minion.providers.xml_documents import XmlDocument


def get_value(context: Context, file: str, element: str) -> str | bool | None:
    """The text of the first element that a path leads to; false where there is none."""
    found = _document(context, file).find(element)
    return False if found is None else found.text


def set_value(context: Context, file: str, element: str, value: str) -> bool:
    """Set the text of an element; false where there is none."""
    document = _document(context, file)
    found = document.find(element)
    if found is not None:
        context.machine.write(file, document.with_text(found, value))
    return found is not None


def get_attribute(context: Context, file: str, element: str) -> dict[str, str] | bool:
    """The attributes of an element; false where there is none."""
    found = _document(context, file).find(element)
    return False if found is None else dict(found.attrib)


def set_attribute(context: Context, file: str, element: str, key: str, value: str) -> bool:
    """Set an attribute of an element; false where there is none."""
    document = _document(context, file)
    found = document.find(element)
    if found is not None:
        context.machine.write(file, document.with_attribute(found, key, value))
    return found is not None


def _document(context: Context, file: str) -> XmlDocument:
    return XmlDocument(context.machine.read(file), file)


FUNCTIONS: Mapping[str, Any] = {
    "get_attribute": get_attribute,
    "get_value": get_value,
    "set_attribute": set_attribute,
    "set_value": set_value,
}
