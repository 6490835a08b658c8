"""Random trees of several renderers for the comparison with real Salt: includes, extends and requisites between them.

Used by `tools/oracle/goldens.py`. A seed gives the same tree for ever. Salt has Mako only where its virtualenv has the
package (`make oracle` installs it). TOML is left out: the package that Salt reads it with fails on arrays of tables.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from typing import Any

import yaml

_SLS = ("a", "b", "p.c", "p.d", "p")
_PATHS = {"a": "a.sls", "b": "b.sls", "p.c": "p/c.sls", "p.d": "p/d.sls", "p": "p/init.sls"}
_STATES = ("test.nop", "cmd.run", "pkg.installed", "file.managed", "service.running")
_VALUES: tuple[Any, ...] = (1, 0, "x", "a: b", "1", "yes", True, [1, "two"], {"k": 1, "j": "v"}, 2.5, "two words", "é")
_LIB = """{% macro nop(id, value) %}
{{ id }}:
  test.nop:
    - v: {{ value | json }}
    - from: {{ tplfile }}
{%- endmacro %}
{% set shared = {'x': [1, 2], 'y': 'z'} %}
"""

Data = dict[str, Any]


def random_pipeline(seed: int) -> dict[str, str]:
    """The sections of a golden case without its expectation."""
    rng = random.Random(seed)  # noqa: S311 - nothing secret about a test's tree
    names = rng.sample(_SLS, rng.randint(2, len(_SLS)))
    sections = {"states/top.sls": yaml.safe_dump({"base": {"*": names[: rng.randint(1, 2)]}}), "states/lib.jinja": _LIB}
    sections["states/map.yaml"] = "k: {{ grains.os }}\nl: [1, {m: n}]\nmode: 0644\n"
    kinds = {sls: rng.choice(list(_WRITERS)) for sls in names}
    trees = {sls: _sls(rng, sls, names) for sls in names}
    for sls in names:
        _extend(rng, sls, trees, kinds)
    for sls in names:
        sections[f"states/{_PATHS[sls]}"] = _WRITERS[kinds[sls]](rng, trees[sls])
    sections["pillar/top.sls"] = "base:\n  '*':\n    - p\n"
    sections["pillar/p.sls"] = "#!yaml\n" + yaml.safe_dump({"k": rng.choice(_VALUES), "m": {"n": rng.choice(_VALUES)}})
    return sections


def _sls(rng: random.Random, sls: str, names: list[str]) -> Data:
    """The SLS as data: IDs of its own, requisites on them and on what it includes."""
    data: Data = {}
    others = rng.sample([one for one in names if one != sls], 1) if rng.random() < 0.7 else []
    if others:
        data["include"] = [_included(rng, sls, one) for one in others]
    ids = [f"{sls.replace('.', '-')}-{number}" for number in range(rng.randint(1, 4))]
    for index, id_ in enumerate(ids):
        states = rng.sample(_STATES, rng.choice((1, 1, 2)))
        data[id_] = {state: _arguments(rng, ids[:index], data, others) for state in states}
    return data


def _extend(rng: random.Random, sls: str, trees: Mapping[str, Data], kinds: Mapping[str, str]) -> None:
    """Extensions of what the SLS includes, mostly of what is there."""
    for item in trees[sls].get("include", []):
        other = "p" + item if item.startswith(".") else item
        if rng.random() > 0.4 or kinds[other] == "stateconf" or kinds[sls] == "stateconf":
            continue
        id_ = f"{other.replace('.', '-')}-0"
        state = next(iter(trees[other][id_])).partition(".")[0] if rng.random() < 0.9 else "mount"
        trees[sls]["extend"] = {id_: {state: [{"extended": sls}, {"require": [{"sls": other}]}][: rng.randint(1, 2)]}}


def _included(rng: random.Random, sls: str, name: str) -> str:
    if sls.startswith("p.") and name.startswith("p.") and rng.random() < 0.5:
        return "." + name.removeprefix("p.")
    return name


def _arguments(rng: random.Random, before: list[str], data: Data, others: list[str]) -> list[Any]:
    arguments: list[Any] = [{key: rng.choice(_VALUES)} for key in rng.sample(("v", "w", "x"), rng.randint(0, 2))]
    if rng.random() < 0.2:
        arguments.append({"names": ["n1", {"n2": [{"v": rng.choice(_VALUES)}]}, "n1"]})
    if before and rng.random() < 0.4:
        target = rng.choice(before)
        state = next(iter(data[target])).partition(".")[0]
        kind = rng.choice(("require", "watch", "onchanges", "require_in", "listen", "use"))
        arguments.append({kind: [{state: target}]})
    if others and rng.random() < 0.15:
        arguments.append({"require": [{"sls": rng.choice(others)}]})
    if rng.random() < 0.1:
        arguments.append({"order": rng.choice((1, "last", -1))})
    return arguments


def _yaml(rng: random.Random, data: Data) -> str:
    return "#!yaml\n" + yaml.safe_dump(data, sort_keys=False, allow_unicode=True)


def _jinja(rng: random.Random, data: Data) -> str:
    lines = [rng.choice(("", "#!jinja|yaml\n", "#!jinja | yaml\n", "#!yaml_jinja\n"))]
    if rng.random() < 0.5:
        how = rng.choice(("", " with context", " without context"))
        lines.append(f"{{% from 'lib.jinja' import nop, shared{how} %}}\n{{% import_yaml 'map.yaml' as map %}}\n")
        name = f"lib-{rng.randint(0, 10**6)}"
        lines.append(f"{{{{ nop('{name}', [shared, map, pillar.k, salt['pillar.get']('m:n')]) }}}}\n")
    for key, value in data.items():
        if key in ("include", "extend") or rng.random() < 0.5:
            lines.append(yaml.safe_dump({key: value}, sort_keys=False, allow_unicode=True))
        else:
            lines.append(
                f"{{% set body = {_literal(value)} %}}\n{key}: {{{{ body | {rng.choice(('json', 'tojson'))} }}}}\n"
            )
    return "".join(lines)


def _literal(value: Any) -> str:
    """The value as Jinja writes one."""
    return json.dumps(value, ensure_ascii=False)


def _json(rng: random.Random, data: Data) -> str:
    return rng.choice(("#!json\n", "#!jinja|json\n", "#!json_jinja\n")) + json.dumps(data, indent=rng.choice((None, 2)))


def _py(rng: random.Random, data: Data) -> str:
    body = (
        f"    data = {data!r}\n    data['py-{rng.randint(0, 10**6)}'] = {{'test.nop': [{{'os': __grains__['os']}}]}}\n"
    )
    return f"#!py\ndef run():\n{body}    return data\n"


def _yamlex(rng: random.Random, data: Data) -> str:
    lines = ["#!yamlex\n" if rng.random() < 0.7 else "#!jinja|yamlex\n"]
    for key, value in data.items():
        if key in ("include", "extend") or len(value) < 2:
            lines.append(yaml.safe_dump({key: value}, sort_keys=False, allow_unicode=True))
        else:  # its states, one after the other, joined
            lines += [
                f"{key}: !aggregate {json.dumps({state: arguments}, ensure_ascii=False)}\n"
                for state, arguments in value.items()
            ]
    return "".join(lines)


def _stateconf(rng: random.Random, data: Data) -> str:
    options = rng.choice(
        ("", " yaml . jinja", " yaml . jinja", " -o yaml . jinja", " -G yaml . jinja", " -s yaml . jinja")
    )
    local = {key if key in ("include", "extend") else f".{key}": value for key, value in data.items()}
    text = yaml.safe_dump(local, sort_keys=False, allow_unicode=True)
    for key in data:
        text = text.replace(f": {key}\n", f": .{key}\n")
    if rng.random() < 0.4:
        head = ".params:\n  stateconf.set:\n    - port: 80\n# --- end of state config ---\n"
        text = head + text + "shown:\n  test.nop: [{p: {{ params.port }}}]\n"
    return f"#!stateconf{options}\n{text}"


def _mako(rng: random.Random, data: Data) -> str:
    number = rng.randint(0, 10**6)
    loop = f"% for n in [1, 2]:\nmako-${{n}}-{number}:\n  test.nop: [{{v: ${{grains['os']}}}}]\n% endfor\n"
    return "#!mako|yaml\n" + loop + yaml.safe_dump(data, sort_keys=False, allow_unicode=True)


_WRITERS: Mapping[str, Callable[[random.Random, Data], str]] = {
    "jinja": _jinja,
    "yaml": _yaml,
    "json": _json,
    "py": _py,
    "yamlex": _yamlex,
    "mako": _mako,
    "stateconf": _stateconf,
}
