"""What two sides of a case disagree in. Pure functions of what the steps printed; called by `__main__`."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SIDES = ("saltern", "salt")
_STEPS = ("apply", "other", "own", "again")
_BY_CHANCE = frozenset({"pid", "duration", "start_time"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """One thing that the two sides do not agree in."""

    case: str
    about: str
    """`compile`, `result`, `changes`, `files`, `salt-looks` (at Saltern's work), `saltern-looks` (at Salt's), `twice`
    (another answer to the same question)."""
    place: str
    """The state (`module.function name`), or the path."""
    saltern: str
    salt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one step said: states by their tag, or the text of an error."""

    code: int
    states: Mapping[str, Mapping[str, Any]]
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """All of one root: Saltern's or Salt's work."""

    steps: Mapping[str, Step]
    files: Mapping[str, list[Any]]


def read_side(folder: Path) -> Side:
    """The results that `roots.run_side` left in a folder."""
    steps = {name: _step(folder, name) for name in _STEPS}
    text = (folder / "files.json").read_text()
    return Side(steps=steps, files=json.loads(text) if text.strip() else {})


def _step(folder: Path, name: str) -> Step:
    code = int((folder / f"{name}.rc").read_text())
    text, said = (folder / f"{name}.json").read_text(), (folder / f"{name}.err").read_text()
    try:
        value = json.loads(text[text.index("{") :])["local"]
    except (ValueError, KeyError, TypeError):
        return Step(code=code, states={}, error=(said.strip() or text.strip() or f"exit code {code}"))
    if isinstance(value, dict):
        return Step(code=code, states=value)
    return Step(code=code, states={}, error="\n".join(map(str, value)) if isinstance(value, list) else str(value))


def disagreements(case: str, saltern: Side, salt: Side) -> list[Disagreement]:
    """All of a case."""
    mine, theirs = saltern.steps["apply"], salt.steps["apply"]
    if mine.error or theirs.error:
        if mine.error and theirs.error:
            return []
        here, there = (_short(step.error or _compiled(step)) for step in (mine, theirs))
        return [Disagreement(case=case, about="compile", place="", saltern=here, salt=there)]
    return [
        *_of_apply(case, mine, theirs),
        *_of_looks(case, "salt-looks", saltern.steps),
        *_of_looks(case, "saltern-looks", salt.steps),
        *_of_files(case, saltern.files, salt.files),
    ]


def _compiled(step: Step) -> str:
    """What came of a run that the other side did not compile: a fault of the tree may show there as well."""
    failed = (f"{place_of(tag)} {_said(state)}" for tag, state in step.states.items() if state["result"] is False)
    return "\n".join(["compiles", *failed])


def _of_apply(case: str, mine: Step, theirs: Step) -> Iterator[Disagreement]:
    for tag in sorted({*mine.states, *theirs.states}):
        ours, salts = mine.states.get(tag), theirs.states.get(tag)
        place = place_of(tag)
        if ours is None or salts is None:
            here, there = ("not there" if one is None else _said(one) for one in (ours, salts))
            yield Disagreement(case=case, about="result", place=place, saltern=here, salt=there)
        elif ours["result"] != salts["result"] or _unknown(ours) != _unknown(salts):
            yield Disagreement(case=case, about="result", place=place, saltern=_said(ours), salt=_said(salts))
        elif (a := _plain(ours["changes"])) != (b := _plain(salts["changes"])):
            yield Disagreement(case=case, about="changes", place=place, saltern=_short(a), salt=_short(b))


def _unknown(state: Mapping[str, Any]) -> bool:
    """Whether the state's function is not there: then it fails for another reason than one that was tried."""
    return state["result"] is False and " was not found in SLS " in str(state.get("comment", ""))


def _of_looks(case: str, about: str, steps: Mapping[str, Step]) -> Iterator[Disagreement]:
    """The other's answers under test=True about this root, against those of the one who made it."""
    other, own = steps["other"], steps["own"]
    if other.error or own.error:
        if bool(other.error) != bool(own.error):
            mine, theirs = (own, other) if about == "salt-looks" else (other, own)
            shown = {"saltern": _short(mine.error or "answers"), "salt": _short(theirs.error or "answers")}
            yield Disagreement(case=case, about=about, place="", **shown)
        return
    for tag in sorted({*other.states, *own.states}):
        one, two = other.states.get(tag), own.states.get(tag)
        if one is not None and two is not None and (one["result"] is True) != (two["result"] is True):
            ours, salts = (two, one) if about == "salt-looks" else (one, two)
            yield Disagreement(case=case, about=about, place=place_of(tag), saltern=_said(ours), salt=_said(salts))
    for tag in sorted(other.states):
        again = steps["again"].states.get(tag)
        if again is not None and again["result"] != other.states[tag]["result"]:
            first, second = _said(other.states[tag]), _said(again)
            place = f"{about}: {place_of(tag)}"
            yield Disagreement(case=case, about="twice", place=place, saltern=first, salt=second)


def _of_files(case: str, mine: Mapping[str, list[Any]], theirs: Mapping[str, list[Any]]) -> Iterator[Disagreement]:
    for path in sorted({*mine, *theirs}):
        a, b = mine.get(path), theirs.get(path)
        if (a and a[:5]) != (b and b[:5]):
            yield Disagreement(
                case=case, about="files", place=f"/{path}", saltern=_file(a, without=b), salt=_file(b, without=a)
            )


def _file(entry: list[Any] | None, *, without: list[Any] | None) -> str:
    """What stands at a path; with the lines that the other side does not have, where both texts were kept."""
    if entry is None:
        return "as before"
    head = " ".join(map(str, entry[:5]))
    if without is None or len(entry) < 6 or len(without) < 6:
        return _short(head)
    marked = difflib.ndiff(str(without[5]).splitlines(), str(entry[5]).splitlines())
    return _short("\n".join([head, *(line for line in marked if line.startswith("+ "))]))


def of_neither(saltern: Side, salt: Side) -> list[str]:
    """What neither side could do, in Salt's words: why a case does not compile, or the states that fail on both."""
    mine, theirs = saltern.steps["apply"], salt.steps["apply"]
    if mine.error or theirs.error:
        return [_short(" ".join(theirs.error.split()))] if mine.error and theirs.error else []
    both = (tag for tag, state in theirs.states.items() if state["result"] is False and _fails(mine.states.get(tag)))
    told = (f"{place_of(tag)}: {_said(theirs.states[tag])}" for tag in both)
    return [one for one in told if "False: One or more requisite failed" not in one]


def _fails(state: Mapping[str, Any] | None) -> bool:
    return state is not None and state["result"] is False


def place_of(tag: str) -> str:
    """A state as people write it: `file.managed: /etc/motd`."""
    state, _, name, fun = [*tag.split("_|-"), "", "", "", ""][:4]
    return f"{state}.{fun}: {name}"


def _plain(value: Any) -> Any:
    """Changes without what no two runs have in common, and diffs without their ends of lines.

    Salt leaves out the last ends of lines, and does not mark text that has none; the files are compared themselves.
    """
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items() if key not in _BY_CHANCE}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, str) and value.startswith("--- \n"):
        return value.replace("\n\\ No newline at end of file", "").replace("\n", "")
    return value


def _said(state: Mapping[str, Any]) -> str:
    comment = str(state.get("comment", "")).strip()
    if "Traceback (most recent call last)" in comment:
        comment = f"an exception: {comment.splitlines()[-1]}"
    return _short(f"{state['result']}: {comment}")


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
    return text if len(text) <= 1200 else f"{text[:600]} … {text[-500:]}"
