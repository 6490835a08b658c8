"""`#!py`: an SLS that is Python, whose `run()` gives the data. It runs in the compile process, with all its rights.

That is what trees written for Salt expect; who does not trust the authors of a tree switches it off by the option
`allow_py_renderer`. Nothing that such an SLS read is known, so that its results are never memoised. Called by
`renderers`; knows nothing of text.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any

from highstate.functions.call import FunctionFailed
from highstate.types import Value

_DUNDERS = {
    "__salt__": "salt",
    "__grains__": "grains",
    "__pillar__": "pillar",
    "__opts__": "opts",
    "__env__": "saltenv",
    "__sls__": "sls",
}


class PythonFailed(Exception):
    """The SLS raised, or is no Python: the text says what, `line` where."""

    def __init__(self, message: str, line: int, *, live: str = "") -> None:
        super().__init__(message)
        self.line = line
        self.live = live


def run_python(source: str, path: str, variables: Mapping[str, Value]) -> Value:
    """What `run()` of the SLS gives; PythonFailed when it fails."""
    module: Any = types.ModuleType("sls")
    module.__file__ = path
    module.__dict__.update({dunder: variables.get(name) for dunder, name in _DUNDERS.items()})
    module.__dict__.update(variables)
    try:
        exec(compile(source, path, "exec"), module.__dict__)  # noqa: S102  (this renderer's purpose)
        module.__dict__.update(variables)  # `salt` is the functions again, whatever was imported by that name
        run = getattr(module, "run", None)
        if not callable(run):
            raise PythonFailed("an SLS for the renderer py defines a function run()", 1)
        return run()
    except PythonFailed:
        raise
    except SyntaxError as error:
        raise PythonFailed(f"Python syntax error: {error.msg}", error.lineno or 0) from error
    except SystemExit as error:
        raise PythonFailed(f"the SLS ended its process: {error}", _line(error, path)) from error
    except FunctionFailed as error:
        raise PythonFailed(str(error), _line(error, path), live=error.live) from error
    except Exception as error:  # code of the tree may raise anything; here it becomes data
        raise PythonFailed(f"{type(error).__name__}: {error}", _line(error, path)) from error


def _line(error: BaseException, path: str) -> int:
    """The innermost line of the SLS on the way to an error."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
