"""A run of states as text for a person: Salt's highstate outputter.

Called by `render` beside it; pure. `OutputOptions` says how much of each state is shown, by Salt's options.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from minion.call.outputters.compressed import compressed
from minion.call.outputters.nested import nested, paint, plain
from minion.config.groups import OutputOptions

Entry = Mapping[str, Any]


def highstate(running: Mapping[str, Entry], minion_id: str, shown: OutputOptions, color: bool) -> Iterator[str]:
    """Lines of all states in the order in which they ran, then the summary."""
    found, counts = compressed(running) if shown.compress else (dict(running), {})
    entries = sorted(found.items(), key=lambda item: item[1].get("__run_num__", 0))
    yield paint(f"{plain(minion_id)}:", _head_shade([entry for _, entry in entries], shown), color)
    for key, entry in entries:
        match _mode(shown, entry):
            case "terse":
                yield _terse(key, entry, shown, color)
            case "full":
                yield from _full(key, entry, shown, color)
    yield from _summary(entries, counts, minion_id, shown, color)
    if shown.profile:
        yield from _profile(entries, color)


def uncompiled(errors: Sequence[Any], minion_id: str, color: bool) -> Iterator[str]:
    """Lines of why no state ran."""
    yield paint(f"{plain(minion_id)}:", "red", color)
    yield paint("    Data failed to compile:", "red", color)
    for error in errors:
        yield paint("----------", "red", color)
        yield paint(textwrap.indent(plain(str(error)), "    "), "red", color)


def _mode(shown: OutputOptions, entry: Entry) -> str:
    """How an entry is shown: `full`, `terse`, or nothing."""
    result = str(entry["result"])
    if (shown.diff or not shown.verbose) and entry["result"] is True and not entry["changes"]:
        return ""
    match shown.state_output.removesuffix("_id"):
        case "mixed":
            return "full" if entry["result"] is False else "terse"
        case "changes":
            return "full" if entry["changes"] or entry["result"] is not True else "terse"
        case "filter" if result in shown.terse:
            return "terse"
        case "filter" if result in shown.exclude:
            return ""
        case "filter":
            return "full"
        case other:
            return other


def _head_shade(entries: Sequence[Entry], shown: OutputOptions) -> str:
    """That of the last state that did not succeed."""
    results = [entry["result"] for entry in entries if _mode(shown, entry) and entry["result"] is not True]
    return "green" if not results else "red" if results[-1] is False else "yellow"


def _shade(entry: Entry) -> str:
    if entry["result"] is None:
        return "yellow"
    return "red" if entry["result"] is False else "cyan" if entry["changes"] else "green"


def _names(key: str) -> tuple[str, str, str]:
    """State and function, id, and name, out of a chunk key."""
    state, own_id, name, fun = ([*key.split("_|-"), "", "", "", ""])[:4]
    return f"{state}.{fun.partition('#')[0]}", plain(own_id), plain(name)


def _terse(key: str, entry: Entry, shown: OutputOptions, color: bool) -> str:
    function, own_id, name = _names(key)
    word = {True: "Changed" if entry["changes"] else "Clean", False: "Failed", None: "Differs"}[entry["result"]]
    label = own_id if shown.state_output.endswith("_id") else name
    shade, warned = _shade(entry), "\n".join(map(str, entry.get("warnings", ())))
    if shown.tabular:
        row = _row(key, entry, shown, label, word)
        return (paint(f"Warnings:\n{warned}", "light red", color) + "\n" if warned else "") + paint(row, shade, color)
    line = f" Name: {label} - Function: {function} - Result: {word}"
    if shown.times and "start_time" in entry:
        line += f" - Started: {entry['start_time']} - Duration: {entry['duration']} ms"
    return (paint(f"Warnings:\n{warned}", "light red", color) if warned else "") + " " + paint(line, shade, color)


def _row(key: str, entry: Entry, shown: OutputOptions, label: str, word: str) -> str:
    """In columns; or in a form that somebody wrote, whose fields are those of `str.format` that Salt fills."""
    state, _, _, fun = ([*key.split("_|-"), "", "", "", ""])[:4]
    if isinstance(shown.tabular, str):
        try:
            return shown.tabular.format("", label, state, fun, word, "", dict(entry))
        except (IndexError, KeyError, ValueError) as error:
            return f"state_tabular cannot be used: {error}"
    times = f"{entry['start_time']} [{entry['duration']!s:>7} ms] " if shown.times and "start_time" in entry else ""
    return f"{times}{state:>10}.{fun:<10} {word:7}   Name: {label}"


def _full(key: str, entry: Entry, shown: OutputOptions, color: bool) -> Iterator[str]:
    function, own_id, name = _names(key)
    comment = plain(str(entry["comment"]).strip()).replace("\n", "\n" + " " * 14)
    lines = [("      ID", own_id), ("Function", function), ("  Result", entry["result"]), (" Comment", comment)]
    if name != own_id and not shown.state_output.endswith("_id"):
        lines.insert(2, ("    Name", name))
    if shown.times and "start_time" in entry:
        lines += [(" Started", entry["start_time"]), ("Duration", f"{entry['duration']} ms")]
    shade = _shade(entry)
    yield paint("----------", shade, color)
    for label, value in lines:
        yield "    " + paint(f"{label}: {value}", shade, color)
    changes = "\n".join(["", *nested(entry["changes"], 14, color)]) if entry["changes"] else ""
    yield paint(f"     Changes:   {changes}", shade, color)
    if entry.get("warnings"):
        text = textwrap.fill(
            "\n".join(map(str, entry["warnings"])), 80, initial_indent=" " * 14, subsequent_indent=" " * 14
        )
        yield "   " + paint(f" Warnings: {text.lstrip()}", "light red", color)


def _summary(
    entries: Sequence[tuple[str, Entry]], counts: Mapping[str, int], minion_id: str, shown: OutputOptions, color: bool
) -> Iterator[str]:
    total = sum(counts.get(key, 1) for key, _ in entries)
    failed = sum(counts.get(key, 1) for key, entry in entries if entry["result"] is False)
    pending = sum(counts.get(key, 1) for key, entry in entries if entry["result"] is None)
    warned = sum(bool(entry.get("warnings")) and _mode(shown, entry) == "full" for _, entry in entries)
    changed = sum(_changed(entry, counts.get(key, 1)) for key, entry in entries)
    width = 11 + max(len(str(number)) for number in (failed, pending, total - failed - pending, warned))

    def line(label: str, count: Any, shade: str) -> str:
        return paint(f"{label}: {count:>{width - len(label) - 2}}", shade, color)

    stats = [paint(f"unchanged={pending}", "yellow", color)] if pending else []
    stats += [paint(f"changed={changed}", "green", color)] if changed else []
    yield paint(f"\nSummary for {plain(minion_id)}\n{'-' * width}", "cyan", color)
    yield line("Succeeded", total - failed, "green") + (f" ({', '.join(stats)})" if stats else "")
    bad = "red" if failed else "cyan"
    yield line("Failed", failed, bad)
    if shown.percent and total:
        yield line("Success %", round(100 * (total - failed) / total, 2), "green")
        yield line("Failure %", round(100 * failed / total, 2), bad)
    if warned:
        yield line("Warnings", warned, "light red")
    yield paint(f"{'-' * width}\nTotal states run: {total:>{width - 7}}", "cyan", color)
    if shown.times:
        yield paint(f"Total run time: {_took([entry for _, entry in entries], width)}", "cyan", color)


def _changed(entry: Entry, count: int) -> int:
    if not entry["changes"]:
        return 0
    return (len(entry["changes"].get("compressed changes", ())) or 1) if count > 1 else 1


def _took(entries: Sequence[Entry], width: int) -> str:
    """All durations; of those that ran beside each other the longest."""
    beside = [float(entry.get("duration", 0)) for entry in entries if "__parallel__" in entry]
    spent = sum(float(entry.get("duration", 0)) for entry in entries if "__parallel__" not in entry)
    spent += max(beside, default=0)
    number, unit = (spent / 1000, "s") if spent > 999 else (spent, "ms")
    return f"{f'{number:.3f}'.rjust(width - 5)} {unit}"


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
