"""Values as text for people and programs: Salt's outputters.

Called by `saltern call`; pure. Without colours unless asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_COLORS = {"green": "32", "red": "31", "cyan": "36", "yellow": "33", "blue": "34"}


def render(value: Any, outputter: str, *, minion_id: str, state_output: str = "full", color: bool = False) -> str:
    """The text, without a newline at its end; empty for `quiet`."""
    match outputter:
        case "quiet":
            return ""
        case "json":
            return _json({minion_id: value})
        case "yaml":
            return _yaml({minion_id: value})
        case "txt":
            return f"{minion_id}: {value if isinstance(value, str) else _json(value, indent=None)}"
        case "highstate":
            return "\n".join(_highstate(value, minion_id, state_output, color))
        case _:
            return "\n".join(_nested({minion_id: value}, 0, color))


def _json(value: Any, indent: int | None = 4) -> str:
    import json

    return json.dumps(value, indent=indent, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    """What JSON has no form for: bytes as text, sets as lists, mappings that are no dict as dict."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, set | frozenset | tuple) else str(value)


def _yaml(value: Any) -> str:
    import json

    import yaml

    plain = json.loads(_json(value))
    text: str = yaml.safe_dump(plain, default_flow_style=False, sort_keys=False, allow_unicode=True)
    return text.rstrip("\n")


def _paint(text: str, name: str, color: bool) -> str:
    return f"\x1b[{_COLORS[name]}m{text}\x1b[0m" if color else text


def _nested(value: Any, indent: int, color: bool) -> Iterator[str]:
    pad = " " * indent
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield pad + _paint(f"{key}:", "cyan", color)
            yield from _nested(inner, indent + 4, color)
    elif isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            lines = list(_nested(inner, indent + 2, color)) or [pad]
            yield f"{pad}- {lines[0].lstrip()}"
            yield from lines[1:]
    else:
        shown = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
        name = "yellow" if isinstance(value, bool | int | float) or value is None else "green"
        for line in shown.splitlines() or [""]:
            yield pad + _paint(line, name, color)


def _highstate(running: Mapping[str, Any], minion_id: str, state_output: str, color: bool) -> Iterator[str]:
    yield _paint(f"{minion_id}:", "cyan", color)
    entries = sorted(running.items(), key=lambda item: item[1].get("__run_num__", 0))
    for key, entry in entries:
        mode = state_output.removesuffix("_id")
        if mode == "mixed":
            mode = "terse" if entry["result"] is True else "full"
        if mode == "changes":
            mode = "full" if entry["changes"] or entry["result"] is not True else "terse"
        yield from _terse(key, entry, color) if mode == "terse" else _full(key, entry, color)
    yield from _summary([entry for _, entry in entries], minion_id, color)


def _shade(entry: Mapping[str, Any]) -> str:
    if entry["result"] is None:
        return "yellow"
    return "red" if entry["result"] is False else "cyan" if entry["changes"] else "green"


def _names(key: str) -> tuple[str, str, str]:
    """State and function, ID, and name, out of a chunk key."""
    state, own_id, name, fun = ([*key.split("_|-"), "", "", "", ""])[:4]
    return f"{state}.{fun.partition('#')[0]}", own_id, name


def _terse(key: str, entry: Mapping[str, Any], color: bool) -> Iterator[str]:
    function, _, name = _names(key)
    word = {True: "Changed" if entry["changes"] else "Clean", False: "Failed", None: "Differs"}[entry["result"]]
    took = f" Started: {entry.get('start_time', '')} Duration: {entry.get('duration', 0)} ms"
    yield _paint(f"  Name: {name} - Function: {function} - Result: {word}{took}", _shade(entry), color)


def _full(key: str, entry: Mapping[str, Any], color: bool) -> Iterator[str]:
    function, own_id, name = _names(key)
    lines = [("ID", own_id), ("Function", function)]
    if name != own_id:
        lines.append(("Name", name))
    lines += [("Result", entry["result"]), ("Comment", entry["comment"])]
    lines += [("Started", entry.get("start_time", "")), ("Duration", f"{entry.get('duration', 0)} ms")]
    shade = _shade(entry)
    yield _paint("----------", shade, color)
    for label, value in lines:
        first, *rest = str(value).splitlines() or [""]
        yield _paint(f"{label:>12}: {first}", shade, color)
        for line in rest:
            yield _paint(" " * 14 + line, shade, color)
    for warning in entry.get("warnings", ()):
        yield _paint(f"{'Warning':>12}: {warning}", "yellow", color)
    yield _paint(f"{'Changes':>12}:", shade, color)
    for line in _nested(entry["changes"], 14, False):
        yield _paint(line, shade, color)


def _summary(entries: list[Mapping[str, Any]], minion_id: str, color: bool) -> Iterator[str]:
    failed = sum(entry["result"] is False for entry in entries)
    pending = sum(entry["result"] is None for entry in entries)
    changed = sum(bool(entry["changes"]) for entry in entries)
    good = len(entries) - failed - pending
    counts = [f"changed={changed}"] if changed else []
    counts = [f"unchanged={pending}", *counts] if pending else counts
    yield ""
    yield _paint(f"Summary for {minion_id}", "cyan", color)
    yield "------------"
    yield _paint(f"Succeeded: {good + pending}", "green", color) + (f" ({', '.join(counts)})" if counts else "")
    yield _paint(f"Failed:    {failed}", "red" if failed else "cyan", color)
    warnings = sum(len(entry.get("warnings", ())) for entry in entries)
    if warnings:
        yield _paint(f"Warnings:  {warnings}", "yellow", color)
    yield "------------"
    yield f"Total states run:     {len(entries)}"
    yield f"Total run time: {sum(entry.get('duration', 0) for entry in entries):9.3f} ms"
