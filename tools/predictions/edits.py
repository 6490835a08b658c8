"""Random edits of a site: what is done to it, in words, and the site that comes of it."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable

from tools.predictions.blocks import Block
from tools.predictions.kinds import KINDS, SINGLE, drawn
from tools.predictions.site import FILES, SLS, TOP, VALUES, Site, set_option

_LIFTED = 0.6
"""How soon `apply: manual` is lifted."""


def edit(site: Site, draw: random.Random, kind: str = "") -> tuple[str, Site]:
    """What is done to a copy of the site, in words, and the copy."""
    site = copy.deepcopy(site)
    site.broken = {}  # whoever breaks a tree mends it next
    if draw.random() < _LIFTED:
        site.policy = [line for line in site.policy if "manual" not in line]
    names = list(_EDITS)
    kind = kind or draw.choices(names, [weight for weight, _ in _EDITS.values()])[0]
    return f"{kind}: {_EDITS[kind][1](site, draw)}", site


def _any_block(site: Site, draw: random.Random) -> tuple[str, Block]:
    sls = draw.choice([name for name in SLS if site.blocks[name]])
    return sls, draw.choice(site.blocks[sls])


def _number(site: Site, draw: random.Random) -> str:
    sls, block = _any_block(site, draw)
    block.number += 1 + draw.randrange(9)
    return f"{sls}/{block.id} ({block.kind})"


def _kind(site: Site, draw: random.Random) -> str:
    sls, block = _any_block(site, draw)
    now = KINDS[block.kind]
    alike = [
        (name, KINDS[name])
        for name in drawn(plain=True, machine=site.machine)
        if (KINDS[name].module, KINDS[name].edits) == (now.module, now.edits)
    ]
    same = [
        name
        for name, one in alike
        if (one.keeps or not now.keeps) and not (one.gathers or now.gathers) and "accumulated" not in (name, block.kind)
    ]
    before, block.kind = block.kind, draw.choice([name for name in same if name not in SINGLE] or [block.kind])
    return f"{sls}/{block.id} from {before} to {block.kind}"


def _add(site: Site, draw: random.Random) -> str:
    sls = draw.choice(SLS)
    said = [f"{sls}/{block.id} ({block.kind})" for block in (site.add(draw, sls) for _ in range(draw.randint(1, 3)))]
    return ", ".join(said)


def _special(site: Site, draw: random.Random) -> str:
    sls, kind = draw.choice(SLS), draw.choice(drawn(plain=False, machine=site.machine))
    return f"{sls}/{site.add(draw, sls, kind).id} ({kind})"


def _remove(site: Site, draw: random.Random) -> str:
    sls, block = _any_block(site, draw)
    site.remove(block.id)
    return f"{sls}/{block.id} ({block.kind})"


def _link(site: Site, draw: random.Random) -> str:
    sls, block = _any_block(site, draw)
    earlier = site.blocks[sls][: site.blocks[sls].index(block)]
    if block.links:
        block.links.pop()
    elif earlier:
        site.link(draw, block, earlier)
    return f"{sls}/{block.id} ({block.kind}): {block.links}"


def _pillar(site: Site, draw: random.Random) -> str:
    at = draw.randrange(VALUES)
    site.values[at] += 1
    return f"n{at}"


def _file(site: Site, draw: random.Random) -> str:
    at = draw.randrange(FILES)
    site.files[at] += 1
    return f"files {at}"


def _macro(site: Site, draw: random.Random) -> str:
    site.macro += 1
    return "conf"


def _map(site: Site, draw: random.Random) -> str:
    site.map += 1
    return str(site.map)


def _loop(site: Site, draw: random.Random) -> str:
    site.loops = draw.randint(0, 4)
    return str(site.loops)


def _option(site: Site, draw: random.Random) -> str:
    sls, block = _any_block(site, draw)
    earlier = site.blocks[sls][: site.blocks[sls].index(block)]
    files = [one.id for one in earlier if KINDS[one.kind].makes_file]
    if block.option or not files:
        block.option = ""
    else:
        set_option(draw, block, files)
    return f"{sls}/{block.id} ({block.kind}): {block.option}"


def _extend(site: Site, draw: random.Random) -> str:
    sls = draw.choice(("web", "db"))
    blocks = [one for one in site.blocks["common"] if KINDS[one.kind].module == "file"]
    if site.extended[sls] or not blocks:
        site.extended[sls] = {}
    else:
        line = draw.choice(("order: 2", "backup: minion", "onlyif: 'true'", "unless: 'true'", "failhard: False"))
        site.extended[sls] = {draw.choice(blocks).id: line}
    return f"{sls} {site.extended[sls]}"


_POLICIES = (
    "push: whole",
    "verify: report",
    "verify: none",
    "apply: manual",
    "missing_source: fail_state",
    "drift: {interval: 0, watch: true}",
    "facts: ['cmd.*']",
)


def _policy(site: Site, draw: random.Random) -> str:
    site.policy = [] if site.policy else draw.sample(_POLICIES, draw.choice((1, 1, 2)))
    return str(site.policy) + _number(site, draw)


def _bad_policy(site: Site, draw: random.Random) -> str:
    site.policy = ["aply: manual"]
    return str(site.policy) + _number(site, draw)


_ERRORS = (
    "{{ pillar['missing'] }}:\n  test.nop: []\n",
    "wrong:\n  test.nop:\n    - require:\n      - file: nowhere\n",
    "unclosed: [\n",
    "{% if %}\n",
    "unknown:\n  nothing.such: []\n",
    "sourced:\n  file.managed:\n    - name: {{ grains['root'] }}/sourced\n    - source: salt://files/nowhere.txt\n",
    "on-web:\n  {% if grains['role'] == 'web' %}test.nop: []{% else %}test.nop: [{% endif %}\n",
)


def _break(site: Site, draw: random.Random) -> str:
    where = draw.choice((*SLS, *SLS, "top", "pillar", "template"))
    errors = {"top": ("  '*': [\n",), "pillar": ("{{ missing.value }}\n",), "template": ("{{ pillar['missing'] }}\n",)}
    site.broken = {where: draw.choice(errors.get(where, _ERRORS))}
    return f"{where}: {site.broken[where]!r}"


_TOPS = (
    {**TOP, "web2": ["db"]},
    {"*": ["common"], "web1": ["web"], "db*": ["db"]},
    {"*": ["common"], "role:web": ["match: grain", "web"], "E@^db": ["match: compound", "db"]},
    {"*": ["common"], "web*": ["web", "coded"], "db*": ["db"]},
)


def _top_edit(site: Site, draw: random.Random) -> str:
    site.top = copy.deepcopy(TOP if site.top != TOP else draw.choice(_TOPS))
    return str(site.top)


def _note(site: Site, draw: random.Random) -> str:
    where = draw.choice((*SLS, "template"))
    site.notes[where] = site.notes.get(where, 0) + 1
    return where


def _order(site: Site, draw: random.Random) -> str:
    sls, block = _any_block(site, draw)
    site.blocks[sls].remove(block)
    at = draw.randint(0, len(site.blocks[sls]))
    site.blocks[sls].insert(at, block)
    return f"{sls}/{block.id} ({block.kind}) to {at}"


def _rename(site: Site, draw: random.Random) -> str:
    sls, block = _any_block(site, draw)
    before = block.id
    return f"{sls}/{before} ({block.kind}) to {site.rename(before)}"


def _move(site: Site, draw: random.Random) -> str:
    sls, block = _any_block(site, draw)
    to = draw.choice([one for one in SLS if one != sls])
    if block.kind == "accumulated" or site.is_named(block.id):
        return f"{sls}/{block.id} stays"
    block.links = []
    site.blocks[sls].remove(block)
    site.blocks[to].append(block)
    return f"{sls}/{block.id} ({block.kind}) to {to}"


def _when(site: Site, draw: random.Random) -> str:
    sls, block = _any_block(site, draw)
    if site.is_named(block.id):
        return f"{sls}/{block.id} stays"
    tests = ("grains['role'] == 'web'", f"pillar['n{block.file}'] is odd", "false", "pillar['extra'].k1 is defined")
    block.only_if = "" if block.only_if else draw.choice(tests)
    return f"{sls}/{block.id} ({block.kind}): {block.only_if}"


def _include(site: Site, draw: random.Random) -> str:
    site.coded ^= {draw.choice(SLS)}
    return str(sorted(site.coded))


def _exclude(site: Site, draw: random.Random) -> str:
    sls = draw.choice(("web", "db"))
    free = [block.id for block in site.blocks["common"] if not site.is_named(block.id)]
    if site.excluded or not free:
        site.excluded = {}
    else:
        site.excluded = {sls: draw.choice(free)}
    return str(site.excluded)


def _extra(site: Site, draw: random.Random) -> str:
    site.extra ^= {draw.randrange(5)}
    return str(sorted(site.extra))


def _pillar_top(site: Site, draw: random.Random) -> str:
    site.pillar_top = not site.pillar_top
    return str(site.pillar_top)


def _nothing(site: Site, draw: random.Random) -> str:
    return ""


_MIXED = ("number", "add", "remove", "pillar", "file", "macro", "option", "link", "order", "rename", "note", "extra")


def _mix(site: Site, draw: random.Random) -> str:
    kinds = draw.sample(_MIXED, draw.randint(2, 4))
    return " and ".join(f"{kind} {_EDITS[kind][1](site, draw)}" for kind in kinds)


_EDITS: dict[str, tuple[int, Callable[[Site, random.Random], str]]] = {
    "number": (24, _number),
    "kind": (8, _kind),
    "add": (14, _add),
    "remove": (7, _remove),
    "link": (7, _link),
    "pillar": (8, _pillar),
    "file": (10, _file),
    "macro": (3, _macro),
    "special": (14, _special),
    "option": (8, _option),
    "map": (3, _map),
    "loop": (2, _loop),
    "extend": (3, _extend),
    "policy": (5, _policy),
    "bad-policy": (1, _bad_policy),
    "break": (5, _break),
    "top": (4, _top_edit),
    "note": (4, _note),
    "order": (4, _order),
    "rename": (4, _rename),
    "move": (3, _move),
    "when": (4, _when),
    "include": (3, _include),
    "exclude": (2, _exclude),
    "extra": (3, _extra),
    "pillar-top": (2, _pillar_top),
    "nothing": (1, _nothing),
    "mix": (10, _mix),
}
"""Kind of edit -> how often it is drawn, and what it does."""
EDITS = tuple(_EDITS)
