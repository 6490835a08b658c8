"""The execution module `ini`: options of files in sections. Read and written by the code of the states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.arguments.types import Map
from minion.execution.apply_state import act, changes_of
from minion.execution.arguments import NotSupported
from minion.execution.context import Context
from minion.states.ini import read_ini


def get_ini(context: Context, file_name: str, separator: str = "=", encoding: NotSupported = None) -> dict[str, Any]:
    """Section → option → value; options before the first section stand beside the sections."""
    sections = read_ini(context.machine, file_name, separator).sections()
    return {**sections.pop("", {}), **sections}


def get_section(
    context: Context,
    file_name: str,
    section: str,
    separator: str = "=",
    encoding: NotSupported = None,
) -> dict[str, Any]:
    """The options of a section; empty when there is none."""
    found = get_ini(context, file_name, separator).get(section, {})
    return found if isinstance(found, dict) else {}


def get_option(
    context: Context,
    file_name: str,
    section: str,
    option: str,
    separator: str = "=",
    encoding: NotSupported = None,
) -> Any:
    """The value of an option; null when there is none. An empty section means options before the first one."""
    if not section:
        return get_ini(context, file_name, separator).get(option)
    return get_section(context, file_name, section, separator).get(option)


def set_option(
    context: Context,
    file_name: str,
    sections: Map | None = None,
    separator: str = "=",
    encoding: NotSupported = None,
    no_spaces: bool = False,
) -> dict[str, Any]:
    """Give options these values; what they were and are."""
    made = act(context, "ini.options_present", file_name, sections=sections, separator=separator, no_spaces=no_spaces)
    return dict(changes_of(made))


def remove_option(
    context: Context,
    file_name: str,
    section: str,
    option: str,
    separator: str = "=",
    encoding: NotSupported = None,
) -> Any:
    """Take an option away; its value, null when there was none."""
    old = get_option(context, file_name, section, option, separator)
    if old is not None:
        act(context, "ini.options_absent", file_name, sections={section: [option]}, separator=separator)
    return old


def remove_section(
    context: Context,
    file_name: str,
    section: str,
    separator: str = "=",
    encoding: NotSupported = None,
) -> Any:
    """Take a section away; its options, null when there was none."""
    found = get_ini(context, file_name, separator)
    if section not in found:
        return None
    act(context, "ini.sections_absent", file_name, sections=[section], separator=separator)
    return found[section]


FUNCTIONS: Mapping[str, Any] = {
    "get_ini": get_ini,
    "get_option": get_option,
    "get_section": get_section,
    "remove_option": remove_option,
    "remove_section": remove_section,
    "set_option": set_option,
}
