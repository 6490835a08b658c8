"""Random pillars for the comparison with real Salt: top files, environments, includes, merging, overrides.

Used by `tools/oracle/goldens.py`. A seed gives the same pillar for ever. One state prints the whole pillar, keys in
their order, so that the lowstate shows it.
"""

from __future__ import annotations

import random
from typing import Any

import yaml

_SLS = ("a", "b", "c", "d", "p.x", "p.y", "p")
_PATHS = {"a": "a.sls", "b": "b.sls", "c": "c/init.sls", "d": "d.sls"}
_PATHS |= {"p.x": "p/x.sls", "p.y": "p/y.sls", "p": "p/init.sls"}
_KEYS = ("k", "l", "m", "n")
_TARGETS = ("*", "web*", "web1", "db*", "os:Debian", "G@os:Debian", "roles:web", "E@web\\d", "web1,db1", "not web1")
_MATCHES = (None, None, None, "grain", "glob", "list", "pcre", "compound")
_STRATEGIES = ("smart", "recurse", "overwrite", "aggregate", "none")
_SHOWN = "shown:\n  test.nop:\n    - all: '{{ pillar | tojson }}'\n"


def random_pillar(seed: int) -> dict[str, str]:
    """The sections of a golden case without its expectation."""
    rng = random.Random(seed)  # noqa: S311 - nothing secret about a test's tree
    envs = ["base"] if rng.random() < 0.5 else ["base", "qa"]
    sections = {"states/shown.sls": _SHOWN, "states/top.sls": "base:\n  '*':\n    - shown\n"}
    for env in envs:
        root = "pillar" if env == "base" else f"pillar@{env}"
        if env == "base" or rng.random() < 0.6:
            sections[f"{root}/top.sls"] = _dump(_top(rng, env, envs))
        there = _SLS if rng.random() < 0.7 else rng.sample(_SLS, 5)
        for sls in there:
            sections[f"{root}/{_PATHS[sls]}"] = _sls(rng, sls, f"{env}-{sls}")
    settings = _settings(rng, envs)
    if settings:
        sections["settings.yaml"] = _dump(settings)
    if rng.random() < 0.15:
        sections["sls"] = "shown\n"
        sections["override.yaml"] = _dump(_mapping(rng, "given", 2))
    return sections


def _settings(rng: random.Random, envs: list[str]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if rng.random() < 0.4:
        settings["pillar_source_merging_strategy"] = rng.choice(_STRATEGIES)
    if rng.random() < 0.3:
        settings["pillar_merge_lists"] = True
    if rng.random() < 0.2:
        settings["pillar_includes_override_sls"] = True
    if rng.random() < 0.15:
        settings["pillarenv"] = rng.choice(envs)
    if rng.random() < 0.1 and len(envs) > 1:
        settings["env_order"] = rng.choice([["qa", "base"], ["base", "qa"], ["qa"]])
    return settings


def _top(rng: random.Random, own: str, envs: list[str]) -> dict[str, Any]:
    named = [own] if rng.random() < 0.7 else envs
    return {env: dict(_target(rng) for _ in range(rng.randint(1, 3))) for env in named}


def _target(rng: random.Random) -> tuple[str, list[Any]]:
    items: list[Any] = rng.sample(_SLS, rng.randint(1, 3))
    matcher = rng.choice(_MATCHES)
    if matcher:
        items.insert(0, {"match": matcher})
    if rng.random() < 0.15:
        items.append({"order": rng.randint(0, 3)})
    if rng.random() < 0.15:
        items.insert(rng.randint(0, len(items)), rng.choice(["p.*", "?", "missing", "*"]))
    if rng.random() < 0.15:
        items.append({"ignore_missing": True})
    return rng.choice(_TARGETS), items


def _sls(rng: random.Random, sls: str, mark: str) -> str:
    data = _mapping(rng, mark, 3)
    if rng.random() < 0.4:
        data["include"] = [_include(rng, sls) for _ in range(rng.randint(1, 2))]
        if rng.random() < 0.5:  # the place of `include` in the mapping shall not matter
            data = {"include": data.pop("include"), **data}
    text = _dump(data)
    if rng.random() < 0.3:
        text += "given: {{ v | default('none') }}\n"
    if rng.random() < 0.15:
        text += "seen: {{ pillar.get('k', 'nothing') }}\nname: {{ sls }} {{ saltenv }} {{ grains['os'] }}\n"
    return text


def _include(rng: random.Random, sls: str) -> Any:
    name = rng.choice([one for one in _SLS if one != sls])
    if sls.startswith("p") and rng.random() < 0.4:
        name = rng.choice([".x", ".y"])
    if rng.random() < 0.05:
        name = rng.choice(["missing", "p.*"])
    if rng.random() < 0.6:
        return name
    options: dict[str, Any] = {}
    if rng.random() < 0.6:
        options["key"] = rng.choice(["k", "n", "k:l", "new", "new:deeper"])
    if rng.random() < 0.6:
        options["defaults"] = {"v": rng.randint(0, 9)}
    return {name: options} if options or rng.random() < 0.5 else name


def _mapping(rng: random.Random, mark: str, depth: int) -> dict[str, Any]:
    return {key: _value(rng, mark, depth - 1) for key in rng.sample(_KEYS, rng.randint(1, 3))}


def _value(rng: random.Random, mark: str, depth: int) -> Any:
    kind = rng.random()
    if kind < 0.45 and depth > 0:
        return _mapping(rng, mark, depth)
    if kind < 0.65:
        return [rng.choice([mark, "same", 1, {"k": mark}]) for _ in range(rng.randint(0, 3))]
    return rng.choice([mark, mark, None, True, 7, "", {}])


def _dump(data: Any) -> str:
    return yaml.safe_dump(data, sort_keys=False)
