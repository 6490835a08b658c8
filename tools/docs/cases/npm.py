"""Cases of the states of Node.js's packages: of folders that are made here. The machine has npm, or none is tried."""

from __future__ import annotations

from collections.abc import Mapping

from tools.docs.cases.case import Case

_PACKAGE = '{"name": "saltern-case", "version": "1.2.0"}'
_FILES = {
    "one/package.json": _PACKAGE,
    "app/package.json": '{"name": "app", "version": "1.0.0", "dependencies": {"saltern-case": "file:../one"}}',
    "empty/": "",
}
_HAS = "cd {top}/empty && npm install --no-audit --no-fund {top}/one"
_IN_EMPTY = {"dir": "{top}/empty"}

CASES: tuple[Case, ...] = (
    Case(fun="npm.installed", name="{top}/one", arguments=_IN_EMPTY, files=_FILES),
    Case(fun="npm.installed", name="saltern-case@^1.1", arguments=_IN_EMPTY, files=_FILES, before=(_HAS,)),
    Case(fun="npm.removed", name="saltern-case", arguments=_IN_EMPTY, files=_FILES, before=(_HAS,)),
    Case(fun="npm.bootstrap", name="{top}/app", files=_FILES),
)
WITHOUT: Mapping[str, str] = {"npm.cache_cleaned": "it needs a registry; tried with one of the tests"}
