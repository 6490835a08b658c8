"""The state module `ini`: options of files in sections, changed line by line, with comments and order kept.

Behaviour: doc/ref/states/all/salt.states.ini_manage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated

from minion.arguments.types import Reads, as_list_of_texts, as_mapping
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction, Value
from minion.states.file.paths import behind, checked


@dataclass(frozen=True, slots=True)
class Ini:
    """The lines of a file, each with the section that it is in (empty: before the first)."""

    lines: tuple[tuple[str, str], ...]
    separator: str
    encoding: str = "utf-8"

    def sections(self) -> dict[str, dict[str, str]]:
        """Section → option → value."""
        found: dict[str, dict[str, str]] = {}
        for section, line in self.lines:
            options = found.setdefault(section, {})
            option = self.option(line)
            if option is not None:
                options[option[0]] = option[1]
        return found

    def option(self, line: str) -> tuple[str, str] | None:
        """Key and value of a line; None for any other line."""
        key, separator, value = line.partition(self.separator)
        if not separator or line.lstrip()[:1] in ("#", ";", "[", "") or line[:1].isspace():
            return None
        return key.strip(), value.strip()

    def with_option(self, section: str, key: str, value: str, joint: str) -> Ini:
        """The file with the option set: where it stands, where a comment (`#key=…`) has it, or at the end."""
        new, lines = f"{key}{joint}{value}", list(self.lines)
        inside = [(index, line) for index, (one, line) in enumerate(lines) if one == section]
        there = (index for index, line in inside if (self.option(line) or ("",))[0] == key)
        commented = (index for index, line in inside if (self.option(_uncommented(line)) or ("",))[0] == key)
        index = next(there, next(commented, None))
        if index is not None:
            lines[index] = (section, new)
            return replace(self, lines=tuple(lines))
        last = max((i for i, (inside, line) in enumerate(lines) if inside == section and line.strip()), default=None)
        if last is None and section:
            lines = [*self.with_section(section).lines]
        at = 0 if not section and last is None else len(lines) if last is None else last + 1
        return replace(self, lines=(*lines[:at], (section, new), *lines[at:]))

    def with_section(self, section: str) -> Ini:
        """The file with an empty section at its end, after an empty line unless it is the first thing there."""
        between = [(self.lines[-1][0], "")] if self.lines and self.lines[-1][1].strip() else []
        return replace(self, lines=(*self.lines, *between, (section, f"[{section}]")))

    def without_option(self, section: str, key: str) -> Ini:
        """The file without the option."""
        kept = ((s, line) for s, line in self.lines if s != section or (self.option(line) or ("",))[0] != key)
        return replace(self, lines=tuple(kept))

    def without_section(self, section: str) -> Ini:
        """The file without the section."""
        return replace(self, lines=tuple((s, line) for s, line in self.lines if s != section))

    def text(self) -> str:
        """The whole file."""
        return "".join(f"{line}\n" for _, line in self.lines)


def _uncommented(line: str) -> str:
    """What a line of a comment would say without its marks; nothing for any other line."""
    return line.lstrip("#").lstrip() if line.startswith("#") else ""


def parse(text: str, separator: str, encoding: str = "utf-8") -> Ini:
    """The file, line by line."""
    section, lines = "", []
    for line in text.splitlines():
        bare = line.strip()
        if bare.startswith("[") and bare.endswith("]"):
            section = bare[1:-1]
        lines.append((section, line))
    return Ini(tuple(lines), separator, encoding)


def as_ini_options(value: Value) -> Mapping[str, Mapping[str, str]]:
    """Section → option → value; options beside the sections are in the section of the empty name."""
    wanted: dict[str, dict[str, str]] = {}
    for section, options in as_mapping(value).items():
        if isinstance(options, Mapping):
            wanted[str(section)] = {str(key): str(one) for key, one in options.items()}
        else:
            wanted.setdefault("", {})[str(section)] = str(options)
    return wanted


def as_ini_keys(value: Value) -> tuple[tuple[str, str], ...]:
    """Section and name of options, of `{section: [option, ...]}`; a name without a list is an option of no section."""
    found: list[tuple[str, str]] = []
    for section, keys in as_mapping(value).items():
        found += [(str(section), str(key)) for key in keys] if isinstance(keys, list) else [("", str(section))]
    return tuple(found)


def as_section_names(value: Value) -> tuple[str, ...]:
    """The names of a list, or the keys of a mapping."""
    return as_list_of_texts(list(value) if isinstance(value, Mapping) else value)


IniOptions = Annotated[Mapping[str, Mapping[str, str]], Reads(as_ini_options, null=True)]
IniKeys = Annotated[tuple[tuple[str, str], ...], Reads(as_ini_keys, null=True)]
SectionNames = Annotated[tuple[str, ...], Reads(as_section_names, null=True)]
NO_OPTIONS: Mapping[str, Mapping[str, str]] = MappingProxyType({})


def options_present(
    machine: Reader,
    name: str,
    *,
    sections: IniOptions = NO_OPTIONS,
    separator: str = "=",
    strict: bool = False,
    encoding: str | None = None,
    no_spaces: bool = False,
) -> Plan:
    """The options have these values; with `strict` there are no others."""
    ini = read_ini(machine, name, separator, encoding, make=True)
    joint = separator if no_spaces else f" {separator} "
    wanted, changes = dict(sections), dict[str, Value]()
    have = ini.sections()
    if strict and "" in have:
        wanted.setdefault("", {})
    for section, options in wanted.items():
        old = have.get(section, {})
        for key, value in options.items():
            if old.get(key) != value:
                ini = ini.with_option(section, key, value, joint)
                _note(changes, section, key, old.get(key), value)
        if section and section not in have and options:
            changes[section] = {"before": None, "after": dict(options)}
        for key in [key for key in old if strict and key not in options]:
            ini = ini.without_option(section, key)
            _note(changes, section, key, old[key], None)
    for section in [one for one in have if strict and one and one not in wanted]:
        ini = ini.without_section(section)
        changes[section] = {"before": have[section], "after": None}
    return _plan(name, ini, changes)


def options_absent(
    machine: Reader, name: str, *, sections: IniKeys = (), separator: str = "=", encoding: str | None = None
) -> Plan:
    """The options are not there."""
    ini = read_ini(machine, name, separator, encoding)
    have, changes = ini.sections(), dict[str, Value]()
    for section, key in sections:
        if key in have.get(section, {}):
            ini = ini.without_option(section, key)
            old = have[section][key]
            changes.update({section: {**changes.get(section, {}), key: old}} if section else {key: old})
    return _plan(name, ini, changes, lambda key: _would((key, changes[key]), "Deleted"))


def sections_present(
    machine: Reader, name: str, *, sections: SectionNames = (), separator: str = "=", encoding: str | None = None
) -> Plan:
    """The sections are there."""
    ini = read_ini(machine, name, separator, encoding, make=True)
    have, changes = ini.sections(), dict[str, Value]()
    for section in sections:
        if section not in have:
            ini = ini.with_section(section)
            changes[section] = {"before": None, "after": {}}
    return _plan(name, ini, changes, lambda key: f"Created new section {key}.\n")


def sections_absent(
    machine: Reader, name: str, *, sections: SectionNames = (), separator: str = "=", encoding: str | None = None
) -> Plan:
    """The sections are not there, and what was in them is gone."""
    ini = read_ini(machine, name, separator, encoding)
    have, changes = ini.sections(), dict[str, Value]()
    for section in sections:
        if section in have:
            ini = ini.without_section(section)
            changes[section] = have[section]
    return _plan(name, ini, changes, lambda key: f"Deleted section {key}.\n")


def read_ini(machine: Reader, name: str, separator: str, encoding: str | None = None, *, make: bool = False) -> Ini:
    """The file, line by line; StateFailed when there is none, unless it is to be made."""
    codec = _codec(encoding)
    path, found = behind(machine, checked(name, "ini"))
    if found is None:
        if not make:
            raise StateFailed(f"Unable to open file '{name}': there is none")
        return parse("", separator, codec)
    try:
        return parse(machine.read(path).decode(codec, _errors(codec)), separator, codec)
    except UnicodeDecodeError as error:
        raise StateFailed(f"{name} is not encoded in {codec}: {error}") from None


def _codec(encoding: str | None) -> str:
    import codecs

    try:
        return codecs.lookup(encoding or "utf-8").name
    except LookupError:
        raise StateFailed(f"{encoding} is no encoding that is known") from None


def _errors(codec: str) -> str:
    """A file of which nothing is said may hold any bytes: they stay."""
    return "surrogateescape" if codec == "utf-8" else "strict"


def _note(changes: dict[str, Value], section: str, key: str, before: Value, after: Value) -> None:
    (changes.setdefault(section, {}) if section else changes)[key] = {"before": before, "after": after}


def _would(change: tuple[str, Value], verb: str = "Changed") -> str:
    key, value = change
    if not isinstance(value, Mapping) or set(value) == {"before", "after"}:
        return f"{verb} key {key}.\n"
    return "".join(f"{verb} key {one} in section {key}.\n" for one in value)


def _plan(name: str, ini: Ini, changes: Mapping[str, Value], say: Callable[[str], str] | None = None) -> Plan:
    act = _write(name, ini)
    return Plan(
        changes=tuple(Change(key=key, reported=value, act=act) for key, value in changes.items()),
        comment="No anomaly detected",
        pending="".join(_would(change) for change in changes.items()) if say is None else "".join(map(say, changes)),
        done="Changes take effect",
    )


def _write(name: str, ini: Ini) -> Callable[[Machine], None]:
    def act(machine: Machine) -> None:
        path, _ = behind(machine, checked(name, "ini"))
        machine.write(path, ini.text().encode(ini.encoding, _errors(ini.encoding)))

    return act


STATES: Mapping[str, StateFunction] = {
    "options_absent": options_absent,
    "options_present": options_present,
    "sections_absent": sections_absent,
    "sections_present": sections_present,
}
