"""Cases of public formulas: their example pillar, the suites of their own tests, and cases of ours.

A formula is a folder NAME-formula, checked out by the caller; nothing of theirs is kept here. Suites are read from
kitchen.yml (test-kitchen with kitchen-salt): which states, which pillar, which other formulas. Ours are in
own_cases.yaml: states of a formula with pillar that makes them work on the roots of `roots`.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from highstate.render.yaml.loader import load_yaml

_KITCHEN = ("kitchen.yml", ".kitchen.yml", "kitchen.yaml")
_SYSTEM = "debian"
_OWN = Path(__file__).with_name("own_cases.yaml")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpinionCase:
    """What is applied: a tree, a top file, pillar."""

    formula: Path
    name: str
    top: Mapping[str, Any]
    pillar: Mapping[str, bytes] = field(default_factory=dict)
    """Files by path, without the top file."""
    pillar_top: Mapping[str, Any] = field(default_factory=dict)
    beside: tuple[tuple[Path, str], ...] = ()
    """Folders that lie in the tree besides the formula, each with its name there."""
    own: bool = False
    """Whether it is one of ours."""
    daemons: bool = False
    """Init scripts start what packages bring; without systemd."""
    network: bool = False
    """A network of the root's own, which it may change."""
    engine: bool = False
    """A Docker engine, with the image base:1."""

    @property
    def key(self) -> str:
        """Name of the formula and of the case."""
        return f"{self.formula.name.removesuffix('-formula')}/{self.name}"

    def lay_out(self, folder: Path) -> None:
        """Write the tree, the pillar and a minion's configuration that both read."""
        states, pillar = folder / "states", folder / "pillar"
        shutil.copytree(self.formula, states, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        for source, name in self.beside:
            shutil.copytree(source, states / name, symlinks=True, dirs_exist_ok=True)
        (states / "top.sls").write_text(yaml.safe_dump(dict(self.top), sort_keys=False))
        pillar.mkdir()
        (pillar / "top.sls").write_text(yaml.safe_dump(dict(self.pillar_top), sort_keys=False))
        for path, text in self.pillar.items():
            (pillar / path).parent.mkdir(parents=True, exist_ok=True)
            (pillar / path).write_bytes(text)
        roots = {"file_roots": {"base": ["/case/states"]}, "pillar_roots": {"base": ["/case/pillar"]}}
        (folder / "conf").mkdir()
        (folder / "conf" / "minion").write_text(yaml.safe_dump({"id": "opinion", "file_client": "local", **roots}))


def cases(folder: Path, names: Sequence[str] = ()) -> Iterator[OpinionCase]:
    """All cases of the formulas in a folder; with names (`nginx`, `nginx/default`) these alone."""
    for formula in sorted(path for path in folder.glob("*-formula") if path.is_dir()):
        short = formula.name.removesuffix("-formula")
        suites = list(_of_suites(formula, folder))
        for case in (*_of_example(formula), *suites, *_of_ours(formula, suites)):
            if not names or short in names or case.key in names:
                yield case


def _of_example(formula: Path) -> Iterator[OpinionCase]:
    """The formula's main SLS with its example pillar, or with none where that cannot be read or is not there."""
    short = formula.name.removesuffix("-formula")
    mains = [path.parent.name for path in sorted(formula.glob("*/init.sls")) if path.parent.name != "test"]
    if not mains:
        return
    main = short if short in mains else mains[0]
    top, example = {"base": {"*": [main]}}, formula / "pillar.example"
    text = _readable(example.read_bytes()) if example.is_file() else None
    if text is None:
        yield OpinionCase(formula=formula, name="without-pillar", top=top)
        return
    pillar_top = {"base": {"*": ["example"]}}
    yield OpinionCase(formula=formula, name="example", top=top, pillar={"example.sls": text}, pillar_top=pillar_top)


def _of_ours(formula: Path, suites: Sequence[OpinionCase]) -> Iterator[OpinionCase]:
    for entry in yaml.safe_load(_OWN.read_text()):
        if f"{entry['formula']}-formula" != formula.name:
            continue
        freedoms = {"own": True} | {name: entry.get(name, False) for name in ("daemons", "network", "engine")}
        if "suite" in entry:
            found = (suite for suite in suites if suite.name == entry["suite"])
            yield from (replace(suite, name=entry["name"], **freedoms) for suite in found)
        else:
            top, pillar = {"base": {"*": entry["states"]}}, yaml.safe_dump(entry["pillar"], sort_keys=False).encode()
            given: dict[str, Any] = {"pillar": {"own.sls": pillar}, "pillar_top": {"base": {"*": ["own"]}}}
            yield OpinionCase(formula=formula, name=entry["name"], top=top, **given, **freedoms)


def _readable(text: bytes) -> bytes | None:
    """The example; one that has a key twice, which is an error, with the last one alone; None for what is no YAML."""
    try:
        load_yaml(text.decode())
    except yaml.YAMLError:
        if b"{%" in text or b"{{" in text:
            return text
        try:
            return yaml.safe_dump(yaml.safe_load(text), sort_keys=False).encode()
        except yaml.YAMLError:
            return None
    return text


def _of_suites(formula: Path, folder: Path) -> Iterator[OpinionCase]:
    kitchen = next((formula / name for name in _KITCHEN if (formula / name).is_file()), None)
    if kitchen is None:
        return
    try:
        whole = yaml.safe_load(kitchen.read_text()) or {}
    except yaml.YAMLError:
        return
    common = whole.get("provisioner") or {}
    for suite in whole.get("suites") or ():
        includes = suite.get("includes") or ()
        if includes and not any(_SYSTEM in one for one in includes):
            continue
        case = _of_suite(formula, folder, str(suite["name"]), {**common, **(suite.get("provisioner") or {})})
        if case is not None:
            yield case


def _of_suite(formula: Path, folder: Path, name: str, wanted: Mapping[str, Any]) -> OpinionCase | None:
    """A suite; None where it has no states of its own, or needs a file or a formula that is not there."""
    top = wanted.get("state_top")
    if not isinstance(top, Mapping) or not top:
        return None
    beside: list[tuple[Path, str]] = []
    for one in wanted.get("dependencies") or ():
        found = _dependency(formula, folder, one)
        if found is None:
            return None
        beside.append(found)
    given = dict(wanted.get("pillars") or {})
    pillar_top = given.pop("top.sls", {})
    pillar = _pillar_folders(formula, wanted)
    pillar |= {path: yaml.safe_dump(value).encode() for path, value in given.items()}
    for path, source in (wanted.get("pillars_from_files") or wanted.get("pillars-from-files") or {}).items():
        if not (formula / source).is_file():
            return None
        pillar[path] = (formula / source).read_bytes()
    return OpinionCase(formula=formula, name=name, top=top, pillar=pillar, pillar_top=pillar_top, beside=tuple(beside))


def _pillar_folders(formula: Path, wanted: Mapping[str, Any]) -> dict[str, bytes]:
    """The files of whole folders of pillar; the top file is the suite's own."""
    found: dict[str, bytes] = {}
    for one in wanted.get("pillars_from_directories") or ():
        folder = (formula / str(one)).resolve()
        inside = folder.is_relative_to(formula.resolve())
        files = sorted(path for path in folder.rglob("*.sls") if path.is_file()) if inside else []
        found |= {str(path.relative_to(folder)): path.read_bytes() for path in files if path != folder / "top.sls"}
    return found


def _dependency(formula: Path, folder: Path, one: Mapping[str, Any]) -> tuple[Path, str] | None:
    """The folder of a dependency: a path of the formula's, or another formula."""
    name = str(one.get("name", ""))
    if one.get("path"):
        source = (formula / str(one["path"]) / name).resolve()
        inside = source.is_relative_to(formula.resolve())
    else:
        source = folder / Path(str(one.get("source", ""))).name.removesuffix(".git") / name
        inside = True
    return (source, name) if inside and source.is_dir() else None
