"""The minion's options that shape a compile, for `saltern call --local`: those of `highstate.compile_options`.

Imported when one of them is set, and when there is something to compile: it loads the types of the language.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from highstate.compile_options import CompileOptions
from minion.config.files import BadMinionSettings
from options.convert import convert_options, kinds_of
from options.document import Fault, Option

KINDS = {name: kind for name, kind in kinds_of(CompileOptions).items() if name != "opts"}


def read_language(options: Mapping[str, Option], faults: list[Fault]) -> dict[str, Any]:
    """Fields of `CompileOptions` that the options set; an option without a value counts as not set, as in Salt."""
    given = {name: option for name, option in options.items() if option.value not in (None, "")}
    return convert_options(given, KINDS, faults)


def compile_options(opts: Mapping[str, Any]) -> CompileOptions:
    """The same of the mapping that templates see, which they see in the compile. Raises BadMinionSettings."""
    faults: list[Fault] = []
    found = read_language({name: Option(value, "") for name, value in opts.items()}, faults)
    if faults:
        raise BadMinionSettings("\n".join(str(fault) for fault in faults))
    return CompileOptions(**found, opts=opts)
