"""Which `.tst` files of the tree are the tests of an SLS, and what they say.

Called by `minion.modules.saltcheck.module`. Tests of `web.conf` are in `web/conf/saltcheck-tests/init.tst` or in
`web/saltcheck-tests/conf.tst`; of `a.b.c` also in `a/saltcheck-tests/b/c.tst`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.execution.loader import Modules
from minion.modules.state.runs import compiled_sls, good


class StateTestFiles:
    """The tests of a tree, as far as a call has asked for them."""

    def __init__(self, context: Context, saltenv: str) -> None:
        self._context = context
        self._saltenv = saltenv
        configured = Modules(context).call("config.get", ("saltcheck_test_location", "saltcheck-tests"))
        self._folder = posixpath.normpath(str(configured)).lstrip("/")
        self.found: list[str] = []
        """SLS with a folder of tests, which are not looked for again."""
        self.tested: set[str] = set()
        """SLS with a file of their own among those that were given."""

    def of(self, name: str, check_all: bool = False) -> list[str]:
        """Paths of the tests of an SLS and of those that it includes; `check_all`: of all in their folders."""
        seen: dict[str, None] = {}
        chosen: dict[str, None] = {}
        for sls in self._compiled_from(name):
            seen.update(dict.fromkeys(self._beside(sls, check_all)))
            own = list(seen) if check_all else [path for path in seen if path.endswith(self._names(sls))]
            chosen.update(dict.fromkeys(own))
            self.tested.update([sls] if own else ())
        return list(chosen)

    def read(self, path: str) -> dict[str, Any]:
        """The tests of a file by name, rendered as an SLS is. CallFailed when they are no mapping."""
        text = self._context.files.read(path, self._saltenv).decode("utf-8-sig")
        given = {"string": text, "saltenv": self._saltenv}
        tests = Modules(self._context).call("slsutil.renderer", (), given)
        if not isinstance(tests or {}, Mapping):
            raise CallFailed(f"salt://{path}: tests are a mapping of their names, not {type(tests).__name__}")
        return dict(tests or {})

    def _compiled_from(self, name: str) -> list[str]:
        """The SLS that give states, for an SLS of the tree; another name is that of tests alone."""
        if name not in Modules(self._context).call("cp.list_states", (self._saltenv,)):
            return [name]
        compiled = compiled_sls(self._context, (name,), {"saltenv": self._saltenv})
        return list(dict.fromkeys(chunk.sls for chunk in good(compiled)))

    def _beside(self, sls: str, check_all: bool) -> list[str]:
        """Test files of the nearest folder that has any; with `check_all` of all folders."""
        paths: list[str] = []
        for folder in self._folders(sls) if sls not in self.found else ():
            there = self._context.files.list(folder, self._saltenv)
            paths += [one for one in there if one.startswith(f"{folder}/") and one.endswith(".tst")]
            if paths and not check_all:
                self.found.append(sls)
                break
        return paths

    def _folders(self, sls: str) -> list[str]:
        parts = sls.split(".")
        tops = {"/".join(parts), "/".join(parts[:-1]), parts[0]}
        return sorted((posixpath.join(top, self._folder) for top in tops), key=lambda path: (-len(path), path))

    def _names(self, sls: str) -> tuple[str, ...]:
        *above, last = parts = sls.split(".")
        return (
            posixpath.join(*parts, self._folder, "init.tst"),
            posixpath.join("/".join(above), self._folder, f"{last}.tst"),
            posixpath.join(parts[0], self._folder, *parts[1:-1], f"{last}.tst"),
        )
