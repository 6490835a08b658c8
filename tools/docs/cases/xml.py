"""Cases of the state of XML documents."""

from __future__ import annotations

from collections.abc import Mapping

from tools.docs.cases.case import Case

_FILES = {
    "f": "<?xml version='1.0'?>\n<!-- kept -->\n<plays xmlns:x='urn:x'>\n  <play id='1'>Old</play><x:y/>\n</plays>\n"
}

CASES: tuple[Case, ...] = (
    Case(fun="xml.value_present", arguments={"xpath": ".//play[@id='1']", "value": "A < B"}, files=_FILES),
)
WITHOUT: Mapping[str, str] = {}
