"""Results as text: JSON and YAML that are the same each time, whatever a tree put into them.

Called by `batch` for its lines and by `one` for people. What JSON does not know becomes text, as in Salt's own output;
a set is written in the order of its members' texts, since its own order is another in each process.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from controller.offline.cases import BadCase
from highstate.types import Value

Form = Literal["json", "yaml"]


def as_line(value: Any) -> bytes:
    """JSON in one line, ASCII alone. BadCase for keys that collide as text, and for endless data."""
    return _json(value, separators=(", ", ": ")).encode("ascii")


def as_text(value: Value, form: Form) -> str:
    """For people and pipes. BadCase for what cannot be written so."""
    if form == "json":
        text = _json(value, indent=2, ensure_ascii=False)
        return (text if _is_unicode(text) else _json(value, indent=2)) + "\n"
    return _yaml(value)


def unicode_of(text: str) -> str:
    """A text that any terminal and file takes: halves of characters are shown by their number."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _json(value: Any, **how: Any) -> str:
    try:
        return json.dumps(value, default=_other, **how)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadCase(f"the result cannot be written as JSON: {error}") from None


def _other(value: Any) -> str:
    return f"{{{', '.join(sorted(map(repr, value)))}}}" if isinstance(value, set | frozenset) and value else str(value)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _yaml(value: Value) -> str:
    import yaml

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]  # known at run time alone
        """Sets in the order of their texts."""

    def members(dumper: Any, found: set[Value]) -> Any:
        return dumper.represent_mapping("tag:yaml.org,2002:set", [(one, None) for one in sorted(found, key=repr)])

    for kind in (set, frozenset):
        Dumper.add_representer(kind, members)
    options: dict[str, Any] = {"default_flow_style": False, "sort_keys": False, "allow_unicode": True}
    try:
        try:
            return str(yaml.dump(value, Dumper=Dumper, **options))
        except UnicodeEncodeError:  # half a character: libyaml does not write it, and the slow one escapes it
            return str(yaml.dump(value, Dumper=yaml.SafeDumper, **options))
    except (yaml.YAMLError, RecursionError) as error:
        raise BadCase(f"the result cannot be written as YAML: {error}") from None
