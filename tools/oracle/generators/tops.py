"""Random state top files for the comparison with real Salt: environments, strategies, targets of all kinds.

Used by `tools/oracle/goldens.py`. A seed gives the same case for ever. Each SLS of each environment is one state that
only it has, so that the lowstate shows what matched, and in which order.
"""

from __future__ import annotations

import random
from typing import Any

import yaml

_ENVS = ("base", "dev", "qa")
_SLS = ("a", "b", "c", "d.x", "d.y")
_STRATEGIES = ("merge", "merge", "same", "merge_all")
_IDS = ("web1", "web2.example.org", "db1")
_TARGETS: dict[str | None, tuple[str, ...]] = {
    None: ("*", "web*", "web1", "G@os:Debian", "web1 or db1", "not db*", "( web* and G@roles:web ) or db1"),
    "glob": ("*", "web?", "[wd]*", "*.example.org"),
    "list": ("web1,db1", "web1", "db1,x"),
    "pcre": ("web\\d", ".*", "(web|db)1$", "eb1"),
    "grain": ("os:Debian", "os:Deb*", "roles:web", "deep:er:1", "roles:nothing", "os"),
    "grain_pcre": ("os:(Debian|Ubuntu)", "roles:we.", "os:deb"),
    "pillar": ("role:web", "list:one", "nested:a:b", "role:x*", "number:7"),
    "pillar_exact": ("role:web", "role:w*", "nested:a:b"),
    "pillar_pcre": ("role:w.b", "list:(one|two)"),
    "ipcidr": ("192.0.2.0/24", "192.0.2.5", "198.51.100.0/24"),
    "nodegroup": ("webs", "both", "nobody"),
    "compound": (
        "G@os:Debian and not E@db.*",
        "I@role:web or L@db1,x",
        "P@os:(Debian|x) and S@192.0.2.0/24",
        "N@webs",
        "N@both and G@roles:proxy",
        "not G@os:Debian",
        "web* and",
        "( web*",
        "J@role:w.b and web*",
        "I@nested:a:b",
    ),
}
_NODEGROUPS = {"webs": "web*", "both": "N@webs or db1", "nobody": "x and y"}
_PILLAR = {"role": "web", "list": ["one", "two"], "nested": {"a": {"b": "c"}}, "number": 7}
_GRAINS = {"deep": {"er": [1, 2]}, "ipv4": ["192.0.2.5", "127.0.0.1"], "ipv6": ["::1"]}


def random_top(seed: int) -> dict[str, str]:
    """The sections of a golden case without its expectation."""
    rng = random.Random(seed)  # noqa: S311 - nothing secret about a test's tree
    envs = ["base", *rng.sample(_ENVS[1:], rng.randint(0, 2))]
    if len(envs) > 1 and rng.random() < 0.05:
        envs.remove("base")
    sections = {"minion": rng.choice(_IDS) + "\n", "grains.yaml": _dump(_GRAINS)}
    sections |= {"pillar/top.sls": "base:\n  '*':\n    - p\n", "pillar/p.sls": _dump(_PILLAR)}
    for env in envs:
        root = "states" if env == "base" else f"states@{env}"
        if env == "base" or rng.random() < 0.7:
            sections |= _tops(rng, root, env, envs)
        for sls in _SLS:
            id_ = f"{env}-{sls}"
            sections[f"{root}/{sls.replace('.', '/')}.sls"] = f"{id_}:\n  test.nop: []\n"
    sections["settings.yaml"] = _dump(_settings(rng, envs))
    return sections


def _settings(rng: random.Random, envs: list[str]) -> dict[str, Any]:
    settings: dict[str, Any] = {"nodegroups": _NODEGROUPS, "top_file_merging_strategy": rng.choice(_STRATEGIES)}
    if rng.random() < 0.3:
        settings["default_top"] = rng.choice(envs)
    if rng.random() < 0.25:
        settings["env_order"] = rng.sample(envs, rng.randint(1, len(envs)))
    if rng.random() < 0.15:
        settings["saltenv"] = rng.choice(envs)
    if rng.random() < 0.1:
        settings["state_top_saltenv"] = rng.choice(envs)
    return settings


def _tops(rng: random.Random, root: str, own: str, envs: list[str]) -> dict[str, str]:
    """The top file of an environment, and one that it may include."""
    top = _top(rng, own, envs)
    files = {}
    if rng.random() < 0.2:
        top["include"] = ["more"]
        files[f"{root}/more.sls"] = _dump(_top(rng, own, envs))
    return {f"{root}/top.sls": _dump(top), **files}


def _top(rng: random.Random, own: str, envs: list[str]) -> dict[str, Any]:
    named = [own] if rng.random() < 0.5 else rng.sample(envs, rng.randint(1, len(envs)))
    return {env: dict(_target(rng, envs) for _ in range(rng.randint(1, 4))) for env in named}


def _target(rng: random.Random, envs: list[str]) -> tuple[str, list[Any]]:
    matcher = rng.choice(list(_TARGETS)) if rng.random() < 0.7 else None
    items: list[Any] = rng.sample(_SLS, rng.randint(1, 3))
    if rng.random() < 0.2:
        items.append(rng.choice(["d.*", "?", "nothing.*"]))
    if rng.random() < 0.1:
        items.append(rng.choice(items))
    if rng.random() < 0.1:
        items.append({rng.choice(envs): rng.choice(_SLS)})
    if matcher:
        items.insert(0 if rng.random() < 0.8 else len(items), {"match": matcher})
    return rng.choice(_TARGETS[matcher]), items


def _dump(data: Any) -> str:
    return yaml.safe_dump(data, sort_keys=False)
