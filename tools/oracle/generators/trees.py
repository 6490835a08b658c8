"""Random trees for the comparison with real Salt: includes, names, requisites of all kinds, extend, exclude, order.

Used by `tools/oracle/__main__.py --random N`. A seed gives the same tree for ever, so a difference can be looked at
again.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import yaml

_IDS = tuple(f"i{number}" for number in range(7))
_STATES = ("pkg.installed", "file.managed", "service.running", "cmd.run", "test.nop")
_FORWARD = ("require", "watch", "onchanges", "onfail", "require_any", "watch_any", "onchanges_any", "onfail_any", "use")
_BACKWARD = ("prereq", "require_in", "watch_in", "onchanges_in", "onfail_in", "prereq_in", "use_in", "listen_in")
_ORDERS = (1, 5, "last", "first", -1, -3, 20000, 10001, 2.5, "x", None)


@dataclass(slots=True)
class _Declared:
    """A state declaration, and the names that it goes by."""

    id: str
    function: str
    arguments: list[Any] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    @property
    def state(self) -> str:
        return self.function.partition(".")[0]


def random_sections(seed: int) -> dict[str, str]:
    """The sections of a golden case without its expectation."""
    rng = random.Random(seed)  # noqa: S311 - nothing secret about a test's tree
    owner = {id_: rng.choice("abc") for id_ in rng.sample(_IDS, rng.randint(2, len(_IDS)))}
    declared = [
        _declare(rng, id_, function) for id_ in owner for function in rng.sample(_STATES, rng.choice((1, 1, 1, 2)))
    ]
    _relate(rng, declared)
    sections = {"states/top.sls": _dump({"base": {"*": ["a", "c"] if rng.random() < 0.3 else ["a"]}})}
    for sls in "abc":
        sections[f"states/{sls}.sls"] = "#!yaml\n" + _dump(_sls(rng, sls, owner, declared))
    if rng.random() < 0.1:
        sections["settings.yaml"] = _dump({"state_auto_order": False})
    return sections


def _declare(rng: random.Random, id_: str, function: str) -> _Declared:
    one = _Declared(id_, function)
    kind = rng.random()
    if kind < 0.15:
        one.names = [f"n{rng.randint(0, 5)}" for _ in range(rng.randint(1, 3))]
        names = [name if rng.random() < 0.7 else {name: [{"v": rng.randint(0, 3)}]} for name in one.names]
        one.arguments.append({"names": names})
    elif kind < 0.3:
        one.names = [f"n{rng.randint(0, 5)}"]
        one.arguments.append({"name": one.names[0]})
    if rng.random() < 0.15:
        one.arguments.append({"order": rng.choice(_ORDERS)})
    if rng.random() < 0.3:
        one.arguments.append({"v": rng.randint(0, 9)})
    return one


def _relate(rng: random.Random, declared: list[_Declared]) -> None:
    """Requisites that mostly point one way along a shuffled row, so that few trees are cyclic."""
    row = rng.sample(declared, len(declared))
    for index, one in enumerate(row):
        if rng.random() < 0.45:
            continue
        kind = rng.choice((*_FORWARD, *_BACKWARD))
        among = row[:index] if kind in _FORWARD else row[index + 1 :]
        if rng.random() < 0.07:
            among = declared
        if among:
            # Two items under `use` meet the one known difference (tests/golden/req-use-any.txtar).
            count = 1 if kind in ("use", "use_in") else rng.randint(1, 2)
            one.arguments.append({kind: [_reference(rng, among) for _ in range(count)]})


def _reference(rng: random.Random, among: list[_Declared]) -> Any:
    kind, target = rng.random(), rng.choice(among)
    if kind < 0.15:
        return target.id
    if kind < 0.3 and target.names:
        return {target.state: rng.choice(target.names)}
    if kind < 0.93:
        return {target.state: target.id}
    return rng.choice([{"sls": rng.choice(["a", "b", "c", "b*"])}, {target.state: "i*"}, {"cmd": rng.choice(_IDS)}])


def _sls(rng: random.Random, sls: str, owner: dict[str, str], declared: list[_Declared]) -> dict[str, Any]:
    data: dict[str, Any] = {}
    if sls == "a":
        data["include"] = rng.choice([["b", "c"], ["c", "b"], ["b"]])
    elif sls == "b" and rng.random() < 0.5:
        data["include"] = ["c"]
    for one in declared:
        if owner[one.id] == sls:
            data.setdefault(one.id, {})[one.function] = one.arguments
    if rng.random() < 0.3:
        data["extend"] = {one.id: {one.state: _extension(rng, declared)} for one in rng.sample(declared, 1)}
    if rng.random() < 0.08:
        data["exclude"] = [rng.choice([{"id": rng.choice(_IDS)}, {"sls": "c"}, "c"])]
    return data


def _extension(rng: random.Random, declared: list[_Declared]) -> list[Any]:
    extension: list[Any] = []
    if rng.random() < 0.5:
        extension.append({"v": rng.randint(10, 19)})
    if rng.random() < 0.3:
        extension.append(rng.choice(["latest", "absent", "dead"]))
    if rng.random() < 0.3:
        extension.append({"require": [_reference(rng, declared)]})
    if rng.random() < 0.2:
        extension.append({"name": "extended"})
    return extension


def _dump(data: Any) -> str:
    return yaml.safe_dump(data, sort_keys=False)
