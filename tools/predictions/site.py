"""A tree of states of all kinds with requisites, macros, pillar and includes, drawn by lot; and random edits of it.

A site is data: blocks (states) in SLS files, pillar values, templates, policy. An edit changes the data, and the tree
is written anew. Everything that the states manage lies below the minion's `root` grain.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tools.predictions.blocks import Block
from tools.predictions.kinds import KINDS, SINGLE, drawn, lines
from tools.predictions.options import OPTIONS
from tools.predictions.sources import sources

MINIONS: Mapping[str, Mapping[str, object]] = {
    "web1": {"role": "web"},
    "web2": {"role": "web"},
    "db1": {"role": "db"},
}
SLS = ("common", "web", "db")
TOP = {"*": ["common"], "web*": ["web"], "db*": ["db"]}
_VALUES = 6
_FILES = 4
_LINKED, _OPTIONAL, _RARE, _LIFTED = 0.4, 0.25, 0.2, 0.6
"""How often a block has a requisite, another argument that every state takes, and what is seldom seen; how soon
`apply: manual` is lifted."""

_HEAD = """\
{% from 'lib/macros.jinja' import conf %}
{% from 'lib/map.jinja' import map with context %}
"""
_MACROS = """\
{% macro conf(id, value) %}
{{ id }}:
  file.managed:
    - name: {{ grains['root'] }}/macro-{{ id }}
    - contents: 'macro <<NUMBER>> {{ value }} on {{ grains['id'] }}'
    - makedirs: True
{% endmacro %}
"""
_MAP = """\
{% set map = salt['grains.filter_by'](
  {'web': {'port': 80, 'base': 1}, 'db': {'port': 1, 'base': <<NUMBER>>}},
  grain='role', merge=salt['pillar.get']('map')) %}
"""
_LINKS_OF_FILES = ("require", "require", "watch", "onchanges", "onfail", "prereq")
_MORE_LINKS = ("require_any", "watch_any", "onchanges_any", "onfail_any", "listen", "onfail_all")
_LINKS_BACK = ("require_in", "watch_in", "onchanges_in", "listen_in", "prereq_in")
_LINKS = (*_LINKS_OF_FILES, "listen")
_BEFORE = frozenset(("prereq", "require_in", "watch_in", "onchanges_in"))
"""Requisites whose state runs before the one that they name."""


@dataclass(slots=True, kw_only=True)
class Site:
    """The data of a tree."""

    blocks: dict[str, list[Block]]
    """By SLS."""
    values: list[int]
    """In the pillar."""
    files: list[int]
    """Numbers in the sources and templates of files."""
    macro: int = 0
    map: int = 5432
    loops: int = 2
    """States that a loop makes."""
    extended: dict[str, dict[str, str]] = field(default_factory=lambda: {"web": {}, "db": {}})
    """SLS -> block of `common` -> line that `extend` gives it."""
    machine: bool = False
    """Whether minions have an /etc of their own."""
    policy: list[str] = field(default_factory=list)
    """Lines of saltern.yaml beside those that hold for all sites."""
    broken: dict[str, str] = field(default_factory=dict)
    """SLS -> text at its end that does not compile."""
    top: dict[str, list[str]] = field(default_factory=lambda: copy.deepcopy(TOP))
    serial: int = 0
    """Of the newest block."""

    def tree(self) -> dict[str, str | bytes]:
        """Path -> content of the repository."""
        found: dict[str, str | bytes] = {f"states/{name}.sls": self._sls(name) for name in SLS}
        for number, value in enumerate(self.files):
            found |= sources(number, value)
        found["states/lib/map.jinja"] = _MAP.replace("<<NUMBER>>", str(self.map))
        found["states/lib/macros.jinja"] = _MACROS.replace("<<NUMBER>>", str(self.macro))
        found["states/top.sls"] = _top(self.top)
        found["states/saltern.yaml"] = "\n".join(["drift: {interval: 0}", *self.policy]) + "\n"
        found["pillar/top.sls"] = _top({"*": ["values"], "db*": ["more"]})
        values = [f"n{at}: {value}" for at, value in enumerate(self.values)]
        texts = [f'  t{at}: "text {self.values[at]}\\nof a pillar"' for at in range(_FILES)]
        found["pillar/values.sls"] = "\n".join([*values, "texts:", *texts, f"map: {{port: {self.values[2]}}}"]) + "\n"
        found["pillar/more.sls"] = "include:\n  - values\nn0: {{ 100 + " + str(self.values[0]) + " }}\n"
        return found

    def _sls(self, name: str) -> str:
        found = [_HEAD]
        if name != "common":
            found += ["include:", "  - common"]
        if extended := self.extended.get(name):
            found.append("extend:")
            for block, line in extended.items():
                found += [f"  {block}:", f"    {KINDS[self.block(block).kind].module}:", f"      - {line}"]
        for one in self.blocks[name]:
            found += lines(one)
        if name == "common":
            found += [f"{{% for number in range({self.loops}) %}}", "loop-{{ number }}:", "  file.managed:"]
            found += ["    - name: {{ grains['root'] }}/loop-{{ number }}", "    - contents: {{ loop.index }} of it"]
            found += ["{% endfor %}"]
        found += [f"{{{{ conf('{name}-macro', pillar['n1']) }}}}", self.broken.get(name, "")]
        return "\n".join(found) + "\n"

    def block(self, block_id: str) -> Block:
        """The block of this id."""
        return next(block for blocks in self.blocks.values() for block in blocks if block.id == block_id)

    def add(self, draw: random.Random, sls: str, kind: str = "") -> Block:
        """A new block at the end of an SLS or inside of it."""
        self.serial += 1
        earlier = [block for block in self.blocks["common"] if sls != "common"] + self.blocks[sls]
        kind = kind or draw.choice(drawn(plain=True, machine=self.machine))
        if kind in SINGLE and any(block.kind == kind for blocks in self.blocks.values() for block in blocks):
            kind = "contents"
        paths = [block.id for block in earlier if _fits(kind, block)]
        if kind == "accumulated" and not paths:
            kind = "gather"
        block = Block(
            id=f"s{self.serial}",
            kind=kind,
            number=draw.randrange(100),
            file=draw.randrange(_FILES),
            other=draw.choice(paths) if paths else f"s{self.serial}",
        )
        if earlier and draw.random() < _LINKED and kind != "grains":
            self._link(draw, block, earlier)
        files = [one.id for one in earlier if KINDS[one.kind].makes_file]
        if files and draw.random() < _OPTIONAL and kind not in ("unless", "onlyif", "creates"):
            set_option(draw, block, files)
        self.blocks[sls].append(block)
        return block

    def _link(self, draw: random.Random, block: Block, earlier: list[Block]) -> None:
        other = draw.choice(earlier)
        links: tuple[str, ...] = _LINKS if KINDS[block.kind].module in ("cmd", "test") else _LINKS_OF_FILES
        if draw.random() < _RARE:
            links = _MORE_LINKS
        elif draw.random() < _RARE and not other.links and block.kind != "accumulated":
            links = _LINKS_BACK
        elif block.kind == other.kind == "contents" and draw.random() < _OPTIONAL:
            links = ("use",)
        link = (draw.choice(links), KINDS[other.kind].module, other.id)
        if self._is_circle(block, link):
            return
        block.links.append(link)
        if draw.random() < _RARE and links is not _LINKS_BACK:
            self._link(draw, block, earlier)

    def _is_circle(self, block: Block, link: tuple[str, str, str]) -> bool:
        """Whether the block would have to run before itself with this requisite."""
        after: dict[str, set[str]] = {}
        for one in [each for blocks in self.blocks.values() for each in blocks] + [block]:
            links = [*one.links, *([link] if one is block else [])]
            if one.kind == "accumulated":
                links.append(("require_in", "file", one.other))
            for requisite, _, other in links:
                first, second = (one.id, other) if requisite in _BEFORE else (other, one.id)
                if requisite not in ("use", "listen", "listen_in"):
                    after.setdefault(second, set()).add(first)
        reached, waiting = set[str](), [block.id]
        while waiting:
            for earlier in after.get(waiting.pop(), set()) - reached:
                reached.add(earlier)
                waiting.append(earlier)
        return block.id in reached

    def remove(self, block_id: str) -> None:
        """Take a block away, and the requisites that name it."""
        for sls, blocks in self.blocks.items():
            self.blocks[sls] = blocks = [block for block in blocks if block.id != block_id]
            for block in blocks:
                block.links = [link for link in block.links if link[2] != block_id]
        for extended in self.extended.values():
            extended.pop(block_id, None)
        gone = [
            block.id
            for blocks in self.blocks.values()
            for block in blocks
            if block.kind == "accumulated" and block.other == block_id
        ]
        for block_id in gone:
            self.remove(block_id)


def _fits(kind: str, other: Block) -> bool:
    """Whether a block of this kind may be about the file of another."""
    made = KINDS[other.kind]
    if kind == "accumulated":
        return made.gathers
    return made.keeps if KINDS[kind].edits else made.makes_file


def set_option(draw: random.Random, block: Block, files: list[str]) -> None:
    """Give the block a condition, or another argument that every state takes."""
    block.option, block.asked = draw.choice(list(OPTIONS)), draw.choice(files)
    if block.option == "check-cmd" and block.kind == "check":
        block.option = ""


def _top(targets: Mapping[str, list[str]]) -> str:
    lines = ["base:"]
    for target, names in targets.items():
        lines += [f"  '{target}':", *(f"    - {name}" for name in names)]
    return "\n".join(lines) + "\n"


def new_site(draw: random.Random, states: int = 12, *, machine: bool = False) -> Site:
    """A site with so many states in each SLS, one of each kind first.

    Args:
        draw: what it is drawn from.
        states: in each SLS.
        machine: whether minions have an /etc of their own.
    """
    site = Site(blocks={name: [] for name in SLS}, values=[0] * _VALUES, files=[0] * _FILES, machine=machine)
    kinds = list(drawn(plain=True, machine=machine))
    draw.shuffle(kinds)
    kinds = [*["kept"] * len(SLS), *["contents"] * len(SLS), *kinds]
    for number in range(states * len(SLS)):
        site.add(draw, SLS[number % len(SLS)], kinds[number] if number < len(kinds) else "")
    return site


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
        site._link(draw, block, earlier)
    return f"{sls}/{block.id} ({block.kind}): {block.links}"


def _pillar(site: Site, draw: random.Random) -> str:
    at = draw.randrange(_VALUES)
    site.values[at] += 1
    return f"n{at}"


def _file(site: Site, draw: random.Random) -> str:
    at = draw.randrange(_FILES)
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


def _policy(site: Site, draw: random.Random) -> str:
    lines = ["push: whole", "verify: report", "verify: none", "apply: manual"]
    site.policy = [] if site.policy else [draw.choice(lines)]
    return str(site.policy) + _number(site, draw)


def _bad_policy(site: Site, draw: random.Random) -> str:
    site.policy = ["aply: manual"]
    return str(site.policy) + _number(site, draw)


def _break(site: Site, draw: random.Random) -> str:
    sls = draw.choice(SLS)
    site.broken = {sls: "{{ pillar['missing'] }}:\n  test.nop: []\n"}
    return sls


def _top_edit(site: Site, draw: random.Random) -> str:
    site.top = copy.deepcopy(TOP) if site.top != TOP else {**TOP, "web2": ["db"]}
    return str(site.top)


_EDITS: dict[str, tuple[int, Callable[[Site, random.Random], str]]] = {
    "number": (24, _number),
    "kind": (8, _kind),
    "add": (14, _add),
    "remove": (7, _remove),
    "link": (7, _link),
    "pillar": (8, _pillar),
    "file": (10, _file),
    "macro": (3, _macro),
    "special": (9, _special),
    "option": (8, _option),
    "map": (3, _map),
    "loop": (2, _loop),
    "extend": (3, _extend),
    "policy": (4, _policy),
    "bad-policy": (1, _bad_policy),
    "break": (3, _break),
    "top": (3, _top_edit),
}
"""Kind of edit -> how often it is drawn, and what it does."""
EDITS = tuple(_EDITS)
