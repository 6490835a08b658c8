"""The files of a minion's configuration, put together as Salt puts them.

Called by `minion.config.settings`. `DIR/minion` comes first, then what `default_include` (`minion.d/*.conf`) and
`include` name: among files of one of these two, mappings are merged and lists joined; over what came before, whole
values win. Imports YAML only when there is a file to read.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

DEFAULT_INCLUDE = "minion.d/*.conf"
_DEEPEST = 20
"""Files that include each other; more are a circle."""


class BadMinionSettings(Exception):
    """A configuration file that cannot be used: says which file, what is wrong and what to write."""


def read_files(config_dir: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """All options, and of each the file that it comes from. Raises BadMinionSettings."""
    main = config_dir / "minion"
    opts = parse_file(main) if main.is_file() else {}
    origin = dict.fromkeys(opts, str(main))
    for include in (opts.get("default_include", DEFAULT_INCLUDE), opts.get("include")):
        found: dict[str, Any] = {}
        for path in _named(include, config_dir):
            for key, value in _with_includes(path, _DEEPEST).items():
                found[key] = _both(found[key], value) if key in found else value
                origin[key] = str(path)
        if "schedule" in opts and "schedule" in found:  # jobs that others have written stay (`_schedule.conf`)
            found["schedule"] = _both(opts["schedule"], found["schedule"])
        opts |= found
    return opts, origin


def parse_file(path: Path) -> dict[str, Any]:
    """The options of one file. Raises BadMinionSettings."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), loader)  # noqa: S506  (a safe loader, by name above)
    except (OSError, UnicodeDecodeError) as error:
        raise BadMinionSettings(f"{path}: cannot be read: {error}") from error
    except yaml.YAMLError as error:
        raise BadMinionSettings(f"{path}: is no YAML: {error}") from error
    if data is None:
        return {}
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise BadMinionSettings(f"{path}: must hold `key: value` lines, not a {type(data).__name__}")
    return data


def _with_includes(path: Path, deepest: int) -> dict[str, Any]:
    """An included file, with those that it includes itself."""
    if not deepest:
        raise BadMinionSettings(f"{path}: include: files that include each other")
    opts = parse_file(path)
    for inner in _named(opts.get("include"), path.parent):
        opts |= _with_includes(inner, deepest - 1)
    return opts


def _named(include: Any, folder: Path) -> Iterator[Path]:
    """The files that an include names; a pattern that nothing fits names none."""
    for pattern in include if isinstance(include, list) else [include] if include else []:
        if not isinstance(pattern, str):
            raise BadMinionSettings(f"include: must be the path of a file, or a list of them, not {pattern!r}")
        whole = os.path.join(folder, os.path.expanduser(pattern))  # noqa: PTH111, PTH118  (glob takes text)
        yield from (Path(path) for path in sorted(glob.glob(whole)) if os.path.isfile(path))  # noqa: PTH113, PTH207


def _both(old: Any, new: Any) -> Any:
    """Two values of one option in files beside each other."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return {**old, **{key: _both(old[key], value) if key in old else value for key, value in new.items()}}
    if isinstance(old, list) and isinstance(new, list):
        return old + [one for one in new if one not in old]
    return new
