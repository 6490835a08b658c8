"""The option `engines`: which programs of the administrator go on beside the controller.

Salt's forms: a list of names, or of mappings with one name and its arguments; or one mapping of names. The argument
`engine_module` says which module it is, where that is not the name; `engine_of_tree`, which Salt does not have, that
the live tree brings it. Source: salt/engines/__init__.py `start_engines`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from options.bounded_files import CONFIG_BYTES, FileRefused, read_bounded
from options.document import Fault, Option

MOST_ENGINES = 50
"""Each has a process of its own."""
_NAME = re.compile(r"[\w.-]{1,64}", re.ASCII)
_FORM = "write `- NAME: {ARGUMENT: VALUE}`, as in `- webhook: {port: 8080}`"
_NOT_BUILT = {
    "reactor": "the option reactor needs no engine; remove it",
    "thorium": "use rules (docs/reactors.md)",
    "webhook": "copy examples/engines/engines/webhook.py",
    "slack": "copy examples/engines/engines/slack_alerts.py",
    "http_logstash": "copy examples/engines/engines/http_logstash.py",
}
"""Engines of Salt's that do not come with the controller -> what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """One engine."""

    name: str
    module: str
    """Whose `start` is called."""
    arguments: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Of `start`."""
    of_tree: bool = False
    """Whether the live tree brings the module (`_engines`)."""
    place: str = ""
    """`file:line`."""


def read_engines(option: Option | None, faults: list[Fault]) -> tuple[EngineSettings, ...]:
    """The engines that an option asks for; what is wrong with it is appended to the faults."""
    if option is None or option.value in (None, [], {}):
        return ()
    found: dict[str, EngineSettings] = {}
    for inside, name, given in _pairs(option, faults):
        place = option.at(inside)
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            faults.append(Fault(place, f"engines: {name!r} is no name", _FORM))
        elif given is not None and not (isinstance(given, Mapping) and all(isinstance(key, str) for key in given)):
            faults.append(Fault(place, f"engines: {name} must have a mapping of arguments, not {given!r}", _FORM))
        elif name in found:
            hint = "give the second another name, and this one as its engine_module"
            faults.append(Fault(place, f"engines: {name} is there twice", hint))
        else:
            arguments = dict(given or {})
            module = str(arguments.pop("engine_module", name))
            of_tree = arguments.pop("engine_of_tree", False)
            if not isinstance(of_tree, bool):
                faults.append(Fault(place, f"engines: {name}: engine_of_tree is true or false, not {of_tree!r}", _FORM))
            found[name] = EngineSettings(
                name=name, module=module, arguments=arguments, of_tree=of_tree is True, place=place
            )
    if len(found) > MOST_ENGINES:
        faults.append(Fault(option.place, f"engines: {len(found)} are configured, and {MOST_ENGINES} is the most"))
    return tuple(found.values())


def lacking_engines(
    engines: Sequence[EngineSettings], folders: Sequence[str], engines_dirs: Sequence[str]
) -> list[Fault]:
    """A fault for each engine whose module is in none of the administrator's folders, but those of the tree.

    `folders`: with folders of each kind below them; `engines_dirs`: with engines in them.
    """
    faults = []
    places = [Path(folder) / below for folder in folders for below in ("engines", "_engines")]
    places += map(Path, engines_dirs)
    for engine in engines:
        if not engine.of_tree and not any(_has(place, engine.module) for place in places):
            hint = _NOT_BUILT.get(engine.module, f"it is looked for in engines/{engine.module}.py")
            hint += (
                " below extension_modules or module_dirs, and in engines_dirs; with `engine_of_tree: true` in the tree"
            )
            if engine.module in ("reactor", "thorium"):
                hint = _NOT_BUILT[engine.module]
            faults.append(Fault(engine.place, f"engines: there is no engine {engine.module!r}", hint))
    return faults


def _has(folder: Path, module: str) -> bool:
    """Whether a folder has a module of this name, or one that says that it goes by it."""
    if (folder / f"{module}.py").is_file() or (folder / module / "__init__.py").is_file():
        return True
    named = re.compile(rf"^__virtualname__ *= *[\"']{re.escape(module)}[\"']", re.MULTILINE)
    return any(named.search(_text_of(path)) for path in folder.glob("*.py"))


def _text_of(module: Path) -> str:
    """The text of a module; empty for what is no file."""
    try:
        return read_bounded(module, CONFIG_BYTES, follow=True).decode(errors="replace")
    except FileRefused:
        return ""


def _pairs(option: Option, faults: list[Fault]) -> Iterator[tuple[Sequence[str | int], Any, Any]]:
    value = option.value
    if isinstance(value, Mapping):
        yield from (((str(name),), name, given) for name, given in value.items())
    elif isinstance(value, list | tuple):
        for index, entry in enumerate(value):
            if isinstance(entry, Mapping) and len(entry) == 1:
                yield from (((index, str(name)), name, given) for name, given in entry.items())
            elif isinstance(entry, str):
                yield (index,), entry, None
            else:
                faults.append(Fault(option.at((index,)), f"engines: {entry!r} names no engine", _FORM))
    else:
        faults.append(Fault(option.place, f"engines must be a list of engines, not {value!r}", _FORM))
