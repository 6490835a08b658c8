"""Loads user modules, each in a namespace with Salt's dunders.

Called through `Context.user_modules`. The dunders exist here alone: our own code takes a `Context`. What a module
raises while it is loaded is a failure of that module, kept with its reason.
Behaviour: doc/topics/development/modules (`__virtual__`, `__virtualname__`, `__func_alias__`, `__load__`, `__init__`).
"""

from __future__ import annotations

import functools
import inspect
import logging
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import CodeType, FunctionType, ModuleType
from typing import Any

from extmods.ports import NO_FUNCTIONS, ImportableFunctions, ModuleSources
from extmods.salt_compat.finder import install_finder
from extmods.salt_compat.utils.decorators import lacks_dependency

log = logging.getLogger(__name__)

Dunders = Callable[[], Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class UserFunction:
    """One function of a module."""

    call: Callable[..., Any]

    @property
    def signature(self) -> inspect.Signature:
        """What it takes."""
        return inspect.signature(self.call)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A module that may be used, under the name that it goes by."""

    name: str
    module: ModuleType
    functions: Mapping[str, UserFunction]


@dataclass(kw_only=True)
class UserModules:
    """All user modules of this minion; a kind is loaded when it is first asked for."""

    store: ModuleSources
    dunders: Dunders
    imports: ImportableFunctions = NO_FUNCTIONS
    """What `import salt.modules.*` gives to the modules."""
    failures: dict[str, str] = field(default_factory=dict)
    """`kind.name` -> why it cannot be used."""
    quiet: bool = False
    """Whether the caller reports failures, so that they are not logged."""
    lock: threading.RLock = field(default_factory=threading.RLock)
    _kinds: dict[str, dict[str, Loaded]] = field(default_factory=dict)

    @cached_property
    def context(self) -> dict[str, Any]:
        """`__context__`: what modules leave for each other in a run."""
        return {}

    def forget(self) -> None:
        """Load modules anew when they are next asked for."""
        with self.lock:
            self._kinds.clear()
            self.failures.clear()

    def loaded(self, kind: str) -> Mapping[str, Loaded]:
        """The usable modules of a kind by name."""
        if kind not in self._kinds and not self.store.index().get(kind):
            return {}
        with self.lock:
            if kind not in self._kinds:
                install_finder(self.imports)
                self._kinds[kind] = {}
                for file, oid in sorted(self.store.index().get(kind, {}).items()):
                    one = self._load(kind, file, oid)
                    if one is not None:
                        self._kinds[kind][one.name] = _joined(self._kinds[kind].get(one.name), one)
            return self._kinds[kind]

    def bind(self, dunders: Mapping[str, Any]) -> None:
        """Have all modules see these dunders, those that are loaded already too."""
        with self.lock:
            self.dunders = lambda: dunders
            for modules in self._kinds.values():
                for one in modules.values():
                    one.module.__dict__.update(dunders)

    def function(self, fun: str) -> UserFunction | None:
        """An execution function by its full name."""
        module, _, name = fun.partition(".")
        found = self.loaded("modules").get(module)
        return found.functions.get(name) if found else None

    def outputter(self, fun: str) -> str:
        """The outputter that a module asks for the values of one of its functions (`__outputter__`); or nothing."""
        module, _, name = fun.partition(".")
        found = self.loaded("modules").get(module)
        asked = found.module.__dict__.get("__outputter__") if found else None
        return str(asked.get(name, "")) if isinstance(asked, Mapping) else ""

    def names(self, kind: str) -> list[str]:
        """Full names of all functions of a kind, sorted."""
        return sorted(f"{name}.{fun}" for name, one in self.loaded(kind).items() for fun in one.functions)

    def _load(self, kind: str, file: str, oid: str) -> Loaded | None:
        module = ModuleType(f"saltern_user.{kind}.{file}")
        module.__file__ = f"_{kind}/{file}.py"
        module.__dict__.update(self.dunders())
        module.__dict__["__context__"] = self.context
        try:
            sys.modules[module.__name__] = module  # dataclasses and pickle look there
            exec(_code(self.store.source(oid), module.__file__), module.__dict__)  # noqa: S102  (its purpose)
            start = module.__dict__.get("__init__")
            if isinstance(start, FunctionType):
                start(module.__dict__["__opts__"])
            name, refused = _virtual(module, file)
        except (Exception, SystemExit) as error:
            name, refused = file, f"{type(error).__name__}: {error}{place_of(error, module.__file__)}"
            if not self.quiet:
                log.exception("event=user_module_failed kind=%s module=%s", kind, file)
        if refused:
            self.failures[f"{kind}.{file}"] = refused
            return None
        return Loaded(name=name, module=module, functions=_functions(module))


@functools.lru_cache(maxsize=64)
def _code(source: bytes, file: str) -> CodeType:
    """Compiled once, where a compile loads a module anew for each minion."""
    code: CodeType = compile(source, file, "exec")
    return code


def _joined(first: Loaded | None, second: Loaded) -> Loaded:
    """Two files that go by one name are one module (Salt's rule); what both have is the second's."""
    if first is None:
        return second
    return replace(second, functions={**first.functions, **second.functions})


def place_of(error: BaseException, file: str) -> str:
    """The place of an error in a module (or, with `_KIND/`, in those of a kind), as text; empty when unknown."""
    if isinstance(error, SyntaxError):
        return ""  # its text has the line
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(file)]
    if frames:
        return f" ({frames[-1].filename}, line {frames[-1].lineno})"
    return "" if file.endswith("/") else f" ({file})"


def _virtual(module: ModuleType, file: str) -> tuple[str, str]:
    """The name that the module goes by, and why it does not want to be used here."""
    name = str(module.__dict__.get("__virtualname__") or file)
    virtual = module.__dict__.get("__virtual__")
    if virtual is None:
        return name, ""
    answer = virtual()
    reason = ""
    if isinstance(answer, tuple):
        answer, reason = answer[0], str(answer[1]) if len(answer) > 1 else ""
    if not answer and answer is not None:
        return name, reason or "__virtual__ returned False"
    return (answer if isinstance(answer, str) else name), ""


def _functions(module: ModuleType) -> dict[str, UserFunction]:
    alias = module.__dict__.get("__func_alias__", {})
    only = module.__dict__.get("__load__")
    found: dict[str, UserFunction] = {}
    for name, value in module.__dict__.items():
        imported = isinstance(value, FunctionType) and value.__module__ not in (module.__name__, None)
        if name.startswith("_") or not isinstance(value, FunctionType | functools.partial) or lacks_dependency(value):
            continue
        if (only is not None and name not in only) or (only is None and imported and name not in alias):
            continue
        found[alias.get(name, name)] = UserFunction(call=value)
    return found
