"""The files of a minion's configuration, put together as Salt puts them.

Called by `minion.config.settings`. `DIR/minion` comes first, then what `default_include` (`minion.d/*.conf`) and
`include` name: among files of one of these two, mappings are merged and lists joined; over what came before, whole
values win.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from pathlib import Path

from options.document import Fault, Option, UnreadableDocument, merge_options, read_document

DEFAULT_INCLUDE = "minion.d/*.conf"
_DEEPEST = 20
"""Files that include each other; more are a circle."""


UNUSABLE = 64
"""Exit code of a process whose configuration or command line cannot be used (sysexits' EX_USAGE)."""


class BadMinionSettings(Exception):
    """A configuration that cannot be used; a line for each fault says where, what is wrong and what to write."""


def read_files(config_dir: Path, faults: list[Fault]) -> dict[str, Option]:
    """All options of a folder; what cannot be read is appended to the faults. BadMinionSettings: where nothing can."""
    if config_dir.is_dir() and not os.access(config_dir, os.R_OK | os.X_OK):
        raise BadMinionSettings(f"{config_dir} cannot be read: Permission denied")
    main = config_dir / "minion"
    options = parse_file(main, faults) if main.exists() else {}
    for include in (options.get("default_include", Option(DEFAULT_INCLUDE, "")), options.get("include")):
        found: dict[str, Option] = {}
        for path in _named(include, config_dir, faults):
            for name, option in _with_includes(path, _DEEPEST, faults).items():
                found[name] = _both(found[name], option) if name in found else option
        if "schedule" in options and "schedule" in found:  # jobs that others have written stay (`_schedule.conf`)
            found["schedule"] = _both(options["schedule"], found["schedule"])
        options |= found
    return options


def parse_file(path: Path, faults: list[Fault]) -> dict[str, Option]:
    """The options of one file; what is wrong with it is appended to the faults."""
    try:
        return read_document(path)
    except UnreadableDocument as error:
        faults.append(error.fault)
    return {}


def _with_includes(path: Path, deepest: int, faults: list[Fault]) -> dict[str, Option]:
    """An included file, with those that it includes itself."""
    if not deepest:
        faults.append(Fault(str(path), "include: files that include each other"))
        return {}
    options = parse_file(path, faults)
    for inner in _named(options.get("include"), path.parent, faults):
        options |= _with_includes(inner, deepest - 1, faults)
    return options


def _named(include: Option | None, folder: Path, faults: list[Fault]) -> Iterator[Path]:
    """The files that an include names; a pattern that nothing fits names none."""
    if include is None or not include.value:
        return
    for at, pattern in enumerate(include.value if isinstance(include.value, list) else [include.value]):
        if not isinstance(pattern, str):
            place = include.at((at,))
            faults.append(Fault(place, f"include must be the path of a file, or a list of them, not {pattern!r}"))
            continue
        whole = os.path.join(folder, os.path.expanduser(pattern))  # noqa: PTH111, PTH118  (glob takes text)
        found = (Path(path) for path in sorted(glob.glob(whole)))  # noqa: PTH207
        yield from (path for path in found if path.exists() and not path.is_dir())


def _both(old: Option, new: Option) -> Option:
    """One option in files beside each other."""
    return merge_options(old, new, join_lists=True)
