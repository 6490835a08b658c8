"""The items of trees: what their files use, each name once, with how often and where first. Called by `check`.

Files come from snapshots, which follow no link out of a tree and open no special file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from controller.migration.functions import MODULE_KINDS, FunctionJudge, OwnModules, is_of_salt, judge_module
from controller.migration.items import Item, Judgement
from controller.migration.limits import NAMES, TREE_BYTES, TREE_FILE_BYTES, TREE_FILES
from controller.migration.uses import Use, imported_helpers, named_files, uses_of_sls, uses_of_template
from extmods.fact_answers import may_ask
from gitfs.tree.directory import DirectoryLayer
from gitfs.tree.snapshot import Snapshot

TreeKind: TypeAlias = Literal["states", "pillar"]

_SHOWN_AS: Mapping[str, str] = {"template function": "function", "caller": "reaction"}
_CALLER = Judgement(
    "no counterpart", "a controller is no minion: use `local` with the id of the minion there", "docs/reactors.md"
)


@dataclass(slots=True)
class _Text:
    """A file of a tree."""

    kind: TreeKind
    saltenv: str
    path: str
    place: str
    text: str


@dataclass(slots=True)
class TreeFindings:
    """What trees use."""

    items: list[Item] = field(default_factory=list)
    not_read: list[str] = field(default_factory=list)
    facts: set[str] = field(default_factory=set)
    """Functions that policy has to allow, since SLS or pillar ask minions for them."""
    sls: int = 0
    """SLS that were looked at."""
    judge: FunctionJudge = field(default_factory=FunctionJudge)
    """Says what becomes of other functions, with the modules that the trees bring."""


def look_at(trees: Mapping[TreeKind, Snapshot], reactors: Mapping[str, str]) -> TreeFindings:
    """All items of trees.

    Args:
        trees: the states and the pillar.
        reactors: path -> text of SLS of reactors that lie outside the trees.
    """
    found = TreeFindings()
    texts = [*_texts(trees, found)]
    texts += [_Text("states", "base", path, path, text) for path, text in reactors.items()]
    judge = found.judge = FunctionJudge(own=OwnModules(of=_own_modules(texts)))
    imported = frozenset(name for each in texts if each.path.endswith(_TEMPLATES) for name in named_files(each.text))
    counted: dict[tuple[str, str, bool], _Count] = {}
    for each in texts:
        _count(each, _is_compiled(each, imported), counted, found)
    for (kind, name, compiled), count in counted.items():
        found.items += _items(kind, name, compiled, count, judge, found)
    found.items += _modules(texts)
    found.items += _tops(texts)
    return found


_TEMPLATES = (".sls", ".jinja", ".jinja2", ".j2")


@dataclass(slots=True)
class _Count:
    place: str
    uses: int = 0


def _texts(trees: Mapping[TreeKind, Snapshot], found: TreeFindings) -> Iterator[_Text]:
    """The files of all trees that are text, as far as the limits go."""
    files = total = 0
    for kind, tree in trees.items():
        for saltenv in tree.saltenvs():
            for path in tree.list("", saltenv):
                files += 1
                if files > TREE_FILES or total > TREE_BYTES:
                    found.not_read.append(f"more than {TREE_FILES} files, or {TREE_BYTES >> 20} MiB: the rest")
                    return
                oid = tree.oid(path, saltenv)
                start = tree.blob_start(oid, TREE_FILE_BYTES) if oid else None
                if start is None:
                    found.not_read.append(f"{_place(tree, saltenv, path)}: cannot be read")
                elif start.size > TREE_FILE_BYTES:
                    if path.endswith(_TEMPLATES):
                        found.not_read.append(f"{_place(tree, saltenv, path)}: more than {TREE_FILE_BYTES} bytes")
                elif b"\0" not in start.data:
                    total += start.size
                    text = start.data.decode("utf-8", "replace")
                    yield _Text(kind, saltenv, path, _place(tree, saltenv, path), text)


def _place(tree: Snapshot, saltenv: str, path: str) -> str:
    """Where a file is: on this machine, or in a saltenv of a remote."""
    layer = tree.layer_of(path, saltenv)
    if layer is not None and isinstance(layer[0], DirectoryLayer):
        return str(Path(layer[0].path, layer[1]))
    return f"salt://{path}" + ("" if saltenv == "base" else f"?saltenv={saltenv}")


def _is_compiled(each: _Text, imported: frozenset[str]) -> bool:
    """Whether a file is rendered with the SLS, and not on the minion alone, as a template of a file is."""
    if each.path.endswith(".sls"):
        return True
    return each.path.endswith(_TEMPLATES) and any(each.path.endswith(name) for name in imported)


def _count(each: _Text, compiled: bool, counted: dict[tuple[str, str, bool], _Count], found: TreeFindings) -> None:
    if each.path.endswith(".sls"):
        uses = uses_of_sls(each.text)
        found.sls += 1
    elif "salt" in each.text:
        uses = uses_of_template(each.text)
    else:
        return
    for use in uses:
        if not _counts(each, use):
            continue
        on_minion = use.kind != "template function" or not compiled
        key = (use.kind, use.name, not on_minion)
        if key not in counted:
            if len(counted) >= NAMES:
                continue
            counted[key] = _Count(f"{each.place}:{use.line}")
        counted[key].uses += 1


def _counts(each: _Text, use: Use) -> bool:
    """Whether a use is one: top files and pillar declare no states."""
    if use.kind in ("renderer", "template function"):
        return True
    return each.kind == "states" and each.path.rpartition("/")[2] != "top.sls"


def _items(
    kind: str, name: str, compiled: bool, count: _Count, judge: FunctionJudge, found: TreeFindings
) -> Iterator[Item]:
    match kind:
        case "state":
            said = judge.state(name)
        case "argument":
            function, _, argument = name.partition(" ")
            said = judge.argument(function, argument)
            if said.verdict == "works":
                return  # that a state takes its arguments is part of its working
            name = f"{function}: {argument}"
        case "runner" | "wheel":
            said = judge.of_controller(kind, name)
        case "renderer":
            said = judge.renderer(name)
        case "caller":
            said = _CALLER
        case _:
            if kind == "template function" and not (is_of_salt(name) or judge.own.has("modules", name)):
                said = Judgement("no counterpart", "Salt has no such function, either", "docs/modules.md")
            else:
                said = judge.function(name, compiled=compiled)
            if compiled and said.verdict == "different" and not may_ask(name):
                found.facts.add(name)
    shown = _SHOWN_AS.get(kind, kind)
    yield Item.of(
        shown, f"{name} (in SLS)" if compiled and shown == "function" else name, count.place, said, count.uses
    )


def _own_modules(texts: list[_Text]) -> dict[str, frozenset[str]]:
    """Kind -> names of the modules that the trees bring, those that they give themselves too."""
    found: dict[str, set[str]] = {}
    for each in texts:
        kind, name = _module(each)
        if not kind:
            continue
        found.setdefault(kind, set()).add(name)
        for line in each.text.splitlines():
            if line.startswith("__virtualname__"):
                found[kind].add(line.partition("=")[2].strip().strip("\"'"))
    return {kind: frozenset(names) for kind, names in found.items()}


def _module(each: _Text) -> tuple[str, str]:
    """(kind, name) of a module of the tree; empty for any other file."""
    folder, slash, rest = each.path.partition("/")
    if each.kind != "states" or not slash or not folder.startswith("_") or not rest.endswith(".py"):
        return "", ""
    name = rest.removesuffix(".py").removesuffix("/__init__").partition("/")[0]
    return (folder[1:], name) if folder[1:] in MODULE_KINDS and name != "__init__" else ("", "")


def _modules(texts: list[_Text]) -> Iterator[Item]:
    for each in texts:
        kind, name = _module(each)
        if kind:
            yield Item.of("module", f"_{kind}/{name}", each.place, judge_module(kind, imported_helpers(each.text)))


def _tops(texts: list[_Text]) -> Iterator[Item]:
    """The top files: outside base they count when `state_top_saltenv` says so."""
    for each in texts:
        if each.path != "top.sls":
            continue
        said, page = Judgement("works"), "docs/salt-compatibility.md#an-error-where-salt-goes-on"
        if each.kind == "states" and each.saltenv != "base":
            how = f"the top file of {each.saltenv} is read once state_top_saltenv names it; all are when it is empty"
            said = Judgement("different", how, page)
        elif "match: range" in each.text or "match: data" in each.text or "R@" in each.text:
            said = Judgement("no counterpart", "targets by range and data are errors in top files", page)
        yield Item.of("top file", f"{each.kind}, {each.saltenv}", each.place, said)
