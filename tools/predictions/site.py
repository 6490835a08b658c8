"""A tree of states of all kinds with requisites, macros, pillar and includes, drawn by lot; and random edits of it.

A site is data: blocks (states) in SLS files, pillar values, templates, policy. An edit changes the data, and the tree
is written anew. Everything that the states manage lies below the minion's `root` grain.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from tools.predictions.blocks import Block
from tools.predictions.kinds import KINDS, SINGLE, drawn, lines
from tools.predictions.options import OPTIONS
from tools.predictions.sources import CODED, MODULE, sources

MINIONS: Mapping[str, Mapping[str, object]] = {
    "web1": {"role": "web"},
    "web2": {"role": "web"},
    "db1": {"role": "db"},
}
SLS = ("common", "web", "db")
TOP = {"*": ["common"], "web*": ["web"], "db*": ["db"]}
VALUES = 6
FILES = 4
_LINKED, _OPTIONAL, _RARE, _BY_ID = 0.4, 0.25, 0.2, 0.1
"""How often a block has a requisite, another argument that every state takes, and what is seldom seen; how often a
requisite names no module, or a whole SLS."""

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
    """SLS, `top`, `pillar` or `template` -> text at its end that is an error."""
    notes: dict[str, int] = field(default_factory=dict)
    """SLS, or `template` -> number in a comment of it: all that it compiles to is the same."""
    extra: set[int] = field(default_factory=lambda: {0, 1, 2})
    """Keys of a mapping in the pillar that may be there or not."""
    coded: set[str] = field(default_factory=set)
    """SLS that include the one that is a program."""
    excluded: dict[str, str] = field(default_factory=dict)
    """SLS -> block of `common` that it excludes."""
    pillar_top: bool = False
    """Whether the web servers have the pillar of databases, too."""
    top: dict[str, list[str]] = field(default_factory=lambda: copy.deepcopy(TOP))
    serial: int = 0
    """Of the newest block."""

    def tree(self) -> dict[str, str | bytes]:
        """Path -> content of the repository."""
        found: dict[str, str | bytes] = {f"states/{name}.sls": self._sls(name) for name in SLS}
        for number, value in enumerate(self.files):
            found |= sources(number, value)
        if more := self.broken.get("template", "") + self._note("template"):
            found["states/files/0.j2"] = f"{found['states/files/0.j2']!s}{more}"
        found["states/lib/map.jinja"] = _MAP.replace("<<NUMBER>>", str(self.map))
        found["states/lib/macros.jinja"] = _MACROS.replace("<<NUMBER>>", str(self.macro))
        found["states/_states/drawn.py"] = MODULE
        found["states/coded.sls"] = CODED.replace("<<NUMBER>>", str(self.map))
        found["states/top.sls"] = _top(self.top) + self.broken.get("top", "")
        drift = [] if any(line.startswith("drift") for line in self.policy) else ["drift: {interval: 0}"]
        found["states/saltern.yaml"] = "\n".join([*drift, *self.policy]) + "\n"
        more_pillar = {"web*": ["more"]} if self.pillar_top else {}
        found["pillar/top.sls"] = _top({"*": ["values"], "db*": ["more"], **more_pillar})
        found["pillar/values.sls"] = self._pillar()
        found["pillar/more.sls"] = "include:\n  - values\nn0: {{ 100 + " + str(self.values[0]) + " }}\n"
        return found

    def _pillar(self) -> str:
        found = [f"n{at}: {value}" for at, value in enumerate(self.values)]
        found += ["texts:", *(f'  t{at}: "text {self.values[at]}\\nof a pillar"' for at in range(FILES))]
        found.append(f"map: {{port: {self.values[2]}}}")
        found += ["extra:", "  kept: same", *(f"  k{at}: {self.values[at]}" for at in sorted(self.extra))]
        return "\n".join([*found, self.broken.get("pillar", "")]) + "\n"

    def _note(self, name: str) -> str:
        """A comment of templates, and lines that are empty."""
        number = self.notes.get(name, 0)
        return f"{{# note {number}\n\n#}}" if number else ""

    def _sls(self, name: str) -> str:
        found = [_HEAD + self._note(name)]
        included = [*(["common"] if name != "common" else []), *(["coded"] if name in self.coded else [])]
        if included:
            found += ["include:", *(f"  - {one}" for one in included)]
        if excluded := self.excluded.get(name):
            found += ["exclude:", f"  - id: {excluded}"]
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
            file=draw.randrange(FILES),
            other=draw.choice(paths) if paths else f"s{self.serial}",
        )
        if earlier and draw.random() < _LINKED and kind != "grains":
            self.link(draw, block, earlier)
        files = [one.id for one in earlier if KINDS[one.kind].makes_file]
        if files and draw.random() < _OPTIONAL and kind not in ("unless", "onlyif", "creates"):
            set_option(draw, block, files)
        self.blocks[sls].append(block)
        return block

    def link(self, draw: random.Random, block: Block, earlier: list[Block]) -> None:
        """Give the block a requisite on one of those before it, or on the whole of `common`."""
        other = draw.choice([one for one in earlier if not one.only_if] or earlier)
        links: tuple[str, ...] = _LINKS if KINDS[block.kind].module in ("cmd", "test") else _LINKS_OF_FILES
        if draw.random() < _RARE:
            links = _MORE_LINKS
        elif draw.random() < _RARE and not other.links and block.kind != "accumulated":
            links = _LINKS_BACK
        elif block.kind == other.kind == "contents" and draw.random() < _OPTIONAL:
            links = ("use",)
        link = (draw.choice(links), KINDS[other.kind].module, other.id)
        if links in (_LINKS, _LINKS_OF_FILES) and draw.random() < _BY_ID:
            link = (link[0], "id", other.id)
        elif other in self.blocks["common"] and block not in self.blocks["common"] and draw.random() < _BY_ID:
            link = (draw.choice(("require", "watch", "onchanges")), "sls", "common")
        if self._is_circle(block, link):
            return
        block.links.append(link)
        if draw.random() < _RARE and links is not _LINKS_BACK:
            self.link(draw, block, earlier)

    def _is_circle(self, block: Block, link: tuple[str, str, str]) -> bool:
        """Whether the block would have to run before itself with this requisite."""
        after: dict[str, set[str]] = {}
        for one in [each for blocks in self.blocks.values() for each in blocks] + [block]:
            links = [*one.links, *([link] if one is block else [])]
            if one.kind == "accumulated":
                links.append(("require_in", "file", one.other))
            for requisite, module, named in links:
                for other in [each.id for each in self.blocks[named]] if module == "sls" else [named]:
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
        self.excluded = {sls: excluded for sls, excluded in self.excluded.items() if excluded != block_id}
        gone = [
            block.id
            for blocks in self.blocks.values()
            for block in blocks
            if block.kind == "accumulated" and block.other == block_id
        ]
        for block_id in gone:
            self.remove(block_id)

    def rename(self, block_id: str) -> str:
        """Give a block, and with it what it manages, another name; the name."""
        self.serial += 1
        new = f"s{self.serial}"
        for block in [block for blocks in self.blocks.values() for block in blocks]:
            block.links = [(name, module, new if one == block_id else one) for name, module, one in block.links]
            if block.kind == "accumulated" and block.other == block_id:
                block.other = new
        for extended in self.extended.values():
            if block_id in extended:
                extended[new] = extended.pop(block_id)
        self.excluded = {sls: new if one == block_id else one for sls, one in self.excluded.items()}
        self.block(block_id).id = new
        return new

    def is_named(self, block_id: str) -> bool:
        """Whether something names the block."""
        blocks = [block for blocks in self.blocks.values() for block in blocks]
        linked = any(one == block_id for block in blocks for _, _, one in block.links)
        gathered = any(block.kind == "accumulated" and block.other == block_id for block in blocks)
        return linked or gathered or any(block_id in extended for extended in self.extended.values())


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
    site = Site(blocks={name: [] for name in SLS}, values=[0] * VALUES, files=[0] * FILES, machine=machine)
    kinds = list(drawn(plain=True, machine=machine))
    draw.shuffle(kinds)
    kinds = [*["kept"] * len(SLS), *["contents"] * len(SLS), *kinds]
    for number in range(states * len(SLS)):
        site.add(draw, SLS[number % len(SLS)], kinds[number] if number < len(kinds) else "")
    return site
