"""Salt's functional tests against a program: a pytest plugin that takes the place of Salt's in-process loaders.

Loaded by `tools.oracle.salts_tests` with `-p outside_loaders`, before the tests' conftest imports the loaders. Each
call of `states.x.y(...)` and `modules.x.y(...)` becomes one run of `saltern call --local` (or `salt-call`, to see what
a test asks of any outside program), with the options of the test's minion as its configuration. Values are the
program's JSON; it must not change a value to make a test pass.

SALT_TESTS_PROGRAM: the command, as a shell would split it (default `saltern call`).
SALT_TESTS_LOG: a file that gets each call with its duration, exit code and errors.
"""

from __future__ import annotations

import base64
import json
import os
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import salt.config
import salt.exceptions as salts
import saltfactories.utils.functional as functional

PROGRAM = shlex.split(os.environ.get("SALT_TESTS_PROGRAM", "saltern call"))
LOG = os.environ.get("SALT_TESTS_LOG")
TIMEOUT = 120
"""Seconds of one call."""

_ONE_STATE = ("state.low", "state.single", "state.sls_id")
_STATES = (
    *("state.apply", "state.high", "state.highstate", "state.sls"),
    *("state.template", "state.template_str", "state.test", "state.top"),
)
_NOT_CONFIGURATION = frozenset(("grains", "pillar", "conf_file", "minion_uri", "hash_type", "__role", "features"))


class ProgramFailed(
    salts.CommandExecutionError,
    salts.SaltInvocationError,
    salts.SaltRenderError,
    salts.CommandNotFoundError,
    TypeError,
    KeyError,
):
    """The call ended with an error; an outside program cannot say of which class Salt would raise."""


class Program:
    """Calls of the program for one minion."""

    def __init__(self, opts: Mapping[str, Any]) -> None:
        self.opts = opts
        self.config_dir = Path(tempfile.mkdtemp(prefix="salt-tests-"))

    def call(self, function: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The value of the function; `ProgramFailed` where the program gives none."""
        (self.config_dir / "minion").write_text(json.dumps(configuration_of(self.opts), default=str))
        words = [*(encoded(value) for value in args), *(f"{key}={encoded(value)}" for key, value in kwargs.items())]
        command = [*PROGRAM, "--local", "-c", str(self.config_dir), "--out", "json", "-l", "error", "--"]
        began = time.monotonic()
        ended = subprocess.run(
            [*command, function, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT, check=False
        )
        value, found = value_of(ended.stdout.decode(errors="surrogateescape"))
        error = ended.stderr.decode(errors="replace").strip()
        if LOG:
            with Path(LOG).open("a") as log:
                said = f"{time.monotonic() - began:.2f}s exit {ended.returncode} {function} {shlex.join(words)}"
                print(said, f"    stderr: {error[-2000:]}", f"    value: {str(value)[:2000]}", sep="\n", file=log)
        if not found:
            raise ProgramFailed(error.removeprefix("error: ") or f"exit {ended.returncode}: {ended.stdout!r}")
        return value


def configuration_of(opts: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a test's minion that are not Salt's defaults."""
    defaults = salt.config.DEFAULT_MINION_OPTS
    kept = {key: value for key, value in opts.items() if key not in _NOT_CONFIGURATION and value != defaults.get(key)}
    return kept | {"file_client": "local"}


def encoded(value: Any) -> str:
    """A value as an argument of the command line: JSON, which is YAML."""
    if isinstance(value, bytes):
        return '!!binary "' + base64.b64encode(value).decode() + '"'
    return json.dumps(value, default=plain).replace("#", "\\u0023")


def plain(value: Any) -> Any:
    """What JSON does not know, as the nearest that it knows."""
    if isinstance(value, set | frozenset):
        return sorted(value)
    return str(value)


def value_of(text: str) -> tuple[Any, bool]:
    """The value in what the program printed, and whether there is one."""
    start = text.find("{")
    if start < 0:
        return None, False
    try:
        printed = json.loads(text[start:])
    except ValueError:
        return None, False
    return (printed["local"], True) if isinstance(printed, dict) and "local" in printed else (None, False)


class Function:
    """One execution function or state of the program."""

    def __init__(self, program: Program, name: str, *before: Any) -> None:
        self.program, self.__name__, self.before = program, name, before

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it; results of states are wrapped as the tests expect them."""
        value = self.program.call(self.__name__, (*self.before, *args), kwargs)
        if self.__name__ in _ONE_STATE:
            return functional.StateResult(value)
        if self.__name__.startswith("state.") and isinstance(value, list):
            value = [ErrorText(one) if isinstance(one, str) else one for one in value]
        return functional.MultiStateResult(value) if self.__name__ in _STATES else value


class ErrorText(str):
    """An error of a compile, which has a position before Salt's text and more after it: it equals what it contains."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and str(other) in str(self)

    def __ne__(self, other: object) -> bool:
        return not self == other


class Module:
    """The functions of one module."""

    def __init__(self, functions: Functions, name: str) -> None:
        self._functions, self._name = functions, name

    def __getattr__(self, function: str) -> Function:
        if function.startswith("__"):
            raise AttributeError(function)
        return self._functions[f"{self._name}.{function.rstrip('_') if function.endswith('_') else function}"]


class Functions:
    """All execution functions, or all states, of the program; a name is known when it is called."""

    def __init__(self, program: Program, *, states: bool) -> None:
        self._program, self._states = program, states
        self._known: set[str] | None = None

    def __getattr__(self, module: str) -> Module:
        if module.startswith("__"):
            raise AttributeError(module)
        return Module(self, module)

    def __getitem__(self, name: str) -> Function:
        if not isinstance(name, str):
            raise KeyError(name)
        return Function(self._program, "state.single", name) if self._states else Function(self._program, name)

    def __iter__(self) -> Iterator[str]:
        if self._known is None:
            asked = "sys.list_state_functions" if self._states else "sys.list_functions"
            self._known = set(self._program.call(asked, (), {}))
        return iter(self._known)

    def __contains__(self, name: object) -> bool:
        return name in set(self)

    def get(self, name: str, default: Any = None) -> Any:
        """The function, or the default where the program has none of this name."""
        known = name in set(self)
        return self[name] if known else default


class OutsideLoaders:
    """What the fixture `loaders` gives, with the program behind it."""

    def __init__(self, opts: dict[str, Any], loaded_base_name: str | None = None) -> None:
        self.opts = opts
        self.context: dict[str, Any] = {}
        self._original = dict(opts)
        self._base_name = loaded_base_name
        self._program = Program(opts)
        self.modules = Functions(self._program, states=False)
        self.states = Functions(self._program, states=True)
        self._inside: Any = None
        self.reload_all()
        self.modules.saltutil.sync_all()

    @property
    def grains(self) -> Any:
        """Grains, as the program says."""
        return self.modules.grains.items()

    @property
    def pillar(self) -> Any:
        """Pillar, as the program says."""
        return self.modules.pillar.items()

    def refresh_pillar(self) -> None:
        """Nothing is held: each call compiles the pillar."""

    def reload_all(self) -> None:
        """Begin anew."""
        self.reset_state()

    def reset_state(self) -> None:
        """Empty the cache folder, except for the modules that were synced: Salt's loaders hold these in memory."""
        cachedir = Path(self.opts["cachedir"])
        cachedir.mkdir(parents=True, exist_ok=True)
        for entry in cachedir.iterdir():
            if entry.name in ("extmods", "module_refresh"):
                continue
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()

    def __getattr__(self, name: str) -> Any:
        """What is Salt's own (`utils`, `serializers`), for tests that ask it for their material."""
        if self._inside is None:
            self._inside = _SALTS_LOADERS(dict(self._original), loaded_base_name=self._base_name)
        return getattr(self._inside, name)


_SALTS_LOADERS = functional.Loaders
functional.Loaders = OutsideLoaders
