"""`mako`: templates in Mako, which are Python: what `python_sls` says of trust and memo holds here too.

Includes and namespaces are read from the tree, by `salt://` address or relative to the including file.
Called by `renderers`; Mako itself is loaded on first use.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from highstate.functions.call import FunctionFailed
from highstate.memo.tracked import Recorder
from highstate.render.python_sls import PythonFailed
from highstate.types import Value

if TYPE_CHECKING:
    from mako.template import Template  # type: ignore[import-untyped]  # Mako has no type hints


def run_mako(source: str, path: str, variables: Mapping[str, Value], recorder: Recorder, saltenv: str) -> str:
    """What the template writes; PythonFailed when it fails."""
    from mako import exceptions  # type: ignore[import-untyped]  # Mako has no type hints

    lookup = _Tree(recorder, saltenv)
    try:
        text: str = lookup.make(source, path).render(**variables)
        return text
    except FunctionFailed as error:
        raise PythonFailed(str(error), _line(), live=error.live) from error
    except exceptions.CompileException as error:
        raise PythonFailed(f"Mako: {error}", getattr(error, "lineno", 0)) from error
    except Exception as error:  # templates may raise anything; here it becomes data
        raise PythonFailed(f"{type(error).__name__}: {error}", _line() or _line_of_name(source, error)) from error


def _line() -> int:
    """The SLS's own line on the way to the error that is being handled."""
    from mako.exceptions import RichTraceback  # type: ignore[import-untyped]  # Mako has no type hints

    locations = [record[5] for record in RichTraceback().records if record[5]]
    return int(locations[0]) if locations else 0


def _line_of_name(source: str, error: Exception) -> int:
    """Where the name stands first that is not defined: Mako looks names up before the line that uses them."""
    name = re.search(r"'(\w+)' is not defined", str(error))
    location = re.search(rf"\b{name[1]}\b", source) if name else None
    return source.count("\n", 0, location.start()) + 1 if location else 0


class _Tree:
    """Mako's collection of templates: the tree of one render."""

    def __init__(self, recorder: Recorder, saltenv: str) -> None:
        self._recorder = recorder
        self._saltenv = saltenv
        self._made: dict[str, Template] = {}

    def make(self, source: str, path: str) -> Template:
        """A template that finds its includes here."""
        from mako.template import Template

        lookup: Any = self
        return Template(source, uri=path, lookup=lookup, strict_undefined=True)  # noqa: S702  (no HTML is made here)

    def adjust_uri(self, uri: str, filename: str) -> str:
        """The path in the tree of what `filename` includes as `uri`."""
        if uri.startswith("salt://"):
            return uri.removeprefix("salt://")
        return (
            uri.lstrip("/")
            if uri.startswith("/")
            else posixpath.normpath(posixpath.join(posixpath.dirname(filename), uri))
        )

    def get_template(self, uri: str, relativeto: str | None = None) -> Template:
        """The template at this path."""
        if uri not in self._made:
            if self._recorder.oid(uri, self._saltenv) is None:
                raise LookupError(f"there is no file salt://{uri} in saltenv {self._saltenv}")
            self._made[uri] = self.make(self._recorder.read_file(uri, self._saltenv).decode("utf-8-sig"), uri)
        return self._made[uri]

    def has_template(self, uri: str) -> bool:
        """Whether there is one."""
        return self._recorder.oid(uri, self._saltenv) is not None
