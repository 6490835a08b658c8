"""A run of states as text for a person: Salt's highstate outputter.

Called by `minion.output`; pure. `Shown` says how much of each state is shown, by Salt's options.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

STATE_OUTPUTS = tuple(
    f"{mode}{suffix}" for mode in ("full", "terse", "mixed", "changes", "filter") for suffix in ("", "_id")
)

_COLORS = {"green": "32", "red": "31", "cyan": "36", "yellow": "33", "blue": "34"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """How much is shown."""

    state_output: str = "full"
    """full: all; terse: a line each; mixed: a line for those that succeeded; changes: a line for those without changes;
    filter: as `exclude` and `terse` say. With `_id` at its end the id stands where the name would.
    """
    verbose: bool = True
    """False: states that succeeded without changes are left out."""
    profile: bool = False
    """After the summary, where the time went."""
    exclude: tuple[str, ...] = ()
    """`True`, `False`, `None`: results that `filter` leaves out."""
    terse: tuple[str, ...] = ()
    """Results that `filter` shows in a line."""
    percent: bool = False
    """Shares in the summary (`state_output_pct`)."""

    def mode(self, entry: Mapping[str, Any]) -> str:
        """`full`, `terse`, or nothing."""
        result = str(entry["result"])
        if not self.verbose and entry["result"] is True and not entry["changes"]:
            return ""
        match self.state_output.removesuffix("_id"):
            case "mixed":
                return "terse" if entry["result"] is True else "full"
            case "changes":
                return "full" if entry["changes"] or entry["result"] is not True else "terse"
            case "filter" if result in self.exclude:
                return ""
            case "filter" if result in self.terse:
                return "terse"
            case "filter":
                return "full"
            case other:
                return other


def highstate(running: Mapping[str, Any], minion_id: str, shown: Shown, color: bool) -> Iterator[str]:
    """Lines of all states in the order in which they ran, then the summary."""
    yield paint(f"{minion_id}:", "cyan", color)
    entries = sorted(running.items(), key=lambda item: item[1].get("__run_num__", 0))
    for key, entry in entries:
        match shown.mode(entry):
            case "terse":
                yield from _terse(key, entry, shown, color)
            case "full":
                yield from _full(key, entry, color)
    yield from _summary([entry for _, entry in entries], minion_id, shown, color)
    if shown.profile:
        yield from _profile(entries, color)


def paint(text: str, name: str, color: bool) -> str:
    """Text in a colour of the terminal."""
    return f"\x1b[{_COLORS[name]}m{text}\x1b[0m" if color else text


def nested(value: Any, indent: int, color: bool) -> Iterator[str]:
    """A value as Salt's nested outputter has it, keys sorted."""
    pad = " " * indent
    if isinstance(value, Mapping):
        if value and indent:
            yield pad + paint("----------", "cyan", color)
        for key in sorted(value, key=str):
            yield pad + paint(f"{key}:", "cyan", color)
            yield from nested(value[key], indent + 4, color)
    elif isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            lines = list(nested(inner, indent + 2, color)) or [pad]
            yield f"{pad}- {lines[0].strip()}"
            yield from lines[1:]
    else:
        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
        name = "yellow" if isinstance(value, bool | int | float) or value is None else "green"
        for line in text.splitlines() or [""]:
            yield pad + paint(line, name, color)


def _shade(entry: Mapping[str, Any]) -> str:
    if entry["result"] is None:
        return "yellow"
    return "red" if entry["result"] is False else "cyan" if entry["changes"] else "green"


def _names(key: str) -> tuple[str, str, str]:
    """State and function, id, and name, out of a chunk key."""
    state, own_id, name, fun = ([*key.split("_|-"), "", "", "", ""])[:4]
    return f"{state}.{fun.partition('#')[0]}", own_id, name


def _terse(key: str, entry: Mapping[str, Any], shown: Shown, color: bool) -> Iterator[str]:
    function, own_id, name = _names(key)
    word = {True: "Changed" if entry["changes"] else "Clean", False: "Failed", None: "Differs"}[entry["result"]]
    label = own_id if shown.state_output.endswith("_id") else name
    took = f"Started: {entry.get('start_time', '')} - Duration: {entry.get('duration', 0)} ms"
    yield paint(f"  Name: {label} - Function: {function} - Result: {word} - {took}", _shade(entry), color)
    for warning in entry.get("warnings", ()):
        yield paint(f"    Warning: {warning}", "yellow", color)


def _full(key: str, entry: Mapping[str, Any], color: bool) -> Iterator[str]:
    function, own_id, name = _names(key)
    lines = [("ID", own_id), ("Function", function)]
    if name != own_id:
        lines.append(("Name", name))
    lines += [("Result", entry["result"]), ("Comment", entry["comment"])]
    lines += [("Started", entry.get("start_time", "")), ("Duration", f"{entry.get('duration', 0)} ms")]
    shade = _shade(entry)
    yield paint("----------", shade, color)
    for label, value in lines:
        first, *rest = str(value).splitlines() or [""]
        yield paint(f"{label:>12}: {first}", shade, color)
        for line in rest:
            yield paint(" " * 14 + line, shade, color)
    yield paint(f"{'Changes':>12}:   ", shade, color)
    for line in nested(entry["changes"], 14, False):
        yield paint(line, shade, color)
    for warning in entry.get("warnings", ()):
        yield paint(f"{'Warnings':>12}: {warning}", "yellow", color)


def _summary(entries: list[Mapping[str, Any]], minion_id: str, shown: Shown, color: bool) -> Iterator[str]:
    failed = sum(entry["result"] is False for entry in entries)
    pending = sum(entry["result"] is None for entry in entries)
    changed = sum(bool(entry["changes"]) for entry in entries)
    good = len(entries) - failed
    counts = [f"changed={changed}"] if changed else []
    counts = [f"unchanged={pending}", *counts] if pending else counts
    yield ""
    yield paint(f"Summary for {minion_id}", "cyan", color)
    yield "------------"
    yield paint(f"Succeeded: {good}", "green", color) + (f" ({', '.join(counts)})" if counts else "")
    yield paint(f"Failed:    {failed}", "red" if failed else "cyan", color)
    warnings = sum(len(entry.get("warnings", ())) for entry in entries)
    if warnings:
        yield paint(f"Warnings:  {warnings}", "yellow", color)
    if shown.percent and entries:
        yield f"Success %: {100 * good / len(entries):.2f}"
        yield f"Failure %: {100 * failed / len(entries):.2f}"
    yield "------------"
    yield f"Total states run:     {len(entries)}"
    yield f"Total run time: {sum(entry.get('duration', 0) for entry in entries):9.3f} ms"


def _profile(entries: list[tuple[str, Mapping[str, Any]]], color: bool) -> Iterator[str]:
    """Milliseconds of each state function, all its calls together, the dearest first."""
    spent: dict[str, list[float]] = {}
    for key, entry in entries:
        spent.setdefault(_names(key)[0], []).append(float(entry.get("duration", 0)))
    yield ""
    yield paint("Time by function", "cyan", color)
    yield f"  {'Function':<32} {'Calls':>6} {'Total ms':>12} {'Longest ms':>12}"
    for name, times in sorted(spent.items(), key=lambda item: -sum(item[1])):
        yield f"  {name:<32} {len(times):>6} {sum(times):>12.3f} {max(times):>12.3f}"
