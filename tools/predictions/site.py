"""A tree of states of all kinds with requisites, macros, pillar and includes, drawn by lot; and random edits of it.

A site is data: blocks (states) in SLS files, pillar values, templates, policy. An edit changes the data, and the tree
is written anew. Everything that the states manage lies below the minion's `root` grain.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tools.predictions.blocks import KINDS, PLAIN_KINDS, Block

MINIONS: Mapping[str, Mapping[str, object]] = {
    "web1": {"role": "web"},
    "web2": {"role": "web"},
    "db1": {"role": "db"},
}
SLS = ("common", "web", "db")
TOP = {"*": ["common"], "web*": ["web"], "db*": ["db"]}
_VALUES = 6
_FILES = 4

_MACROS = """\
{% macro conf(id, value) %}
{{ id }}:
  file.managed:
    - name: {{ grains['root'] }}/macro-{{ id }}
    - contents: 'macro <<NUMBER>> {{ value }} on {{ grains['id'] }}'
    - makedirs: True
{% endmacro %}
"""
_LINKS_OF_FILES = ("require", "require", "watch", "onchanges", "onfail", "prereq")
_LINKS = ("require", "require", "watch", "onchanges", "listen", "onfail", "prereq")


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
    policy: list[str] = field(default_factory=list)
    """Lines of saltern.yaml beside those that hold for all sites."""
    broken: dict[str, str] = field(default_factory=dict)
    """SLS -> text at its end that does not compile."""
    top: dict[str, list[str]] = field(default_factory=lambda: copy.deepcopy(TOP))
    serial: int = 0
    """Of the newest block."""

    def tree(self) -> dict[str, str]:
        """Path -> text of the repository."""
        found = {f"states/{name}.sls": self._sls(name) for name in SLS}
        found |= {
            f"states/files/{number}.txt": f"source {value}\n{'same line' * number}\n"
            for number, value in enumerate(self.files)
        }
        found |= {
            f"states/files/{number}.j2": (
                f"template {value} for {{{{ grains['id'] }}}}: {{{{ pillar['n{number}'] }}}}\n"
            )
            for number, value in enumerate(self.files)
        }
        found |= {
            f"states/files/live{number}.j2": f"{value} {{{{ 'has' if salt['cmd.has_exec']('sh') else 'no' }}}} sh\n"
            for number, value in enumerate(self.files)
        }
        found |= {f"states/folder/{number}/name": f"in a folder {value}\n" for number, value in enumerate(self.files)}
        found["states/lib/macros.jinja"] = _MACROS.replace("<<NUMBER>>", str(self.macro))
        found["states/top.sls"] = _top(self.top)
        found["states/saltern.yaml"] = "\n".join(["drift: {interval: 0}", *self.policy]) + "\n"
        found["pillar/top.sls"] = _top({"*": ["values"], "db*": ["more"]})
        found["pillar/values.sls"] = "".join(f"n{at}: {value}\n" for at, value in enumerate(self.values))
        found["pillar/more.sls"] = "n0: {{ 100 + " + str(self.values[0]) + " }}\n"
        return found

    def _sls(self, name: str) -> str:
        lines = ["{% from 'lib/macros.jinja' import conf %}"]
        if name != "common":
            lines += ["include:", "  - common"]
        for block in self.blocks[name]:
            lines += block.lines()
        lines += [f"{{{{ conf('{name}-macro', pillar['n1']) }}}}", self.broken.get(name, "")]
        return "\n".join(lines) + "\n"

    def add(self, draw: random.Random, sls: str, kind: str = "") -> Block:
        """A new block at the end of an SLS or inside of it."""
        self.serial += 1
        kind = kind or draw.choice(PLAIN_KINDS)
        earlier = [block for block in self.blocks["common"] if sls != "common"] + self.blocks[sls]
        edits = KINDS[kind].edits
        paths = [
            block.id
            for block in earlier
            if (KINDS[block.kind].makes_editable if edits else KINDS[block.kind].makes_file)
        ]
        block = Block(
            id=f"s{self.serial}",
            kind=kind,
            number=draw.randrange(100),
            file=draw.randrange(_FILES),
            other=draw.choice(paths) if paths else f"s{self.serial}",
        )
        if earlier and draw.random() < 0.4 and kind != "grains":
            self._link(draw, block, earlier)
        self.blocks[sls].append(block)
        return block

    def _link(self, draw: random.Random, block: Block, earlier: list[Block]) -> None:
        other = draw.choice(earlier)
        links = _LINKS if KINDS[block.kind].module in ("cmd", "test") else _LINKS_OF_FILES
        block.links.append((draw.choice(links), KINDS[other.kind].module, other.id))

    def remove(self, block_id: str) -> None:
        """Take a block away, and the requisites that name it."""
        for sls, blocks in self.blocks.items():
            self.blocks[sls] = blocks = [block for block in blocks if block.id != block_id]
            for block in blocks:
                block.links = [link for link in block.links if link[2] != block_id]


def _top(targets: Mapping[str, list[str]]) -> str:
    lines = ["base:"]
    for target, names in targets.items():
        lines += [f"  '{target}':", *(f"    - {name}" for name in names)]
    return "\n".join(lines) + "\n"


def new_site(draw: random.Random, states: int = 12) -> Site:
    """A site with so many states in each SLS, one of each kind first."""
    site = Site(blocks={name: [] for name in SLS}, values=[0] * _VALUES, files=[0] * _FILES)
    kinds = list(PLAIN_KINDS)
    draw.shuffle(kinds)
    kinds = [*["kept"] * len(SLS), *["contents"] * len(SLS), *kinds]
    for number in range(states * len(SLS)):
        site.add(draw, SLS[number % len(SLS)], kinds[number] if number < len(kinds) else "")
    return site


def edit(site: Site, draw: random.Random, kind: str = "") -> tuple[str, Site]:
    """What is done to a copy of the site, in words, and the copy."""
    site = copy.deepcopy(site)
    site.broken = {}  # whoever breaks a tree mends it next
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
        (name, one) for name, one in KINDS.items() if one.plain and (one.module, one.edits) == (now.module, now.edits)
    ]
    same = [name for name, one in alike if not now.makes_editable or one.makes_editable] or [block.kind]
    before, block.kind = block.kind, draw.choice(same)
    return f"{sls}/{block.id} from {before} to {block.kind}"


def _add(site: Site, draw: random.Random) -> str:
    sls = draw.choice(SLS)
    said = [f"{sls}/{block.id} ({block.kind})" for block in (site.add(draw, sls) for _ in range(draw.randint(1, 3)))]
    return ", ".join(said)


def _special(site: Site, draw: random.Random) -> str:
    sls, kind = draw.choice(SLS), draw.choice([name for name in KINDS if name not in PLAIN_KINDS])
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
    "policy": (3, _policy),
    "bad-policy": (1, _bad_policy),
    "break": (3, _break),
    "top": (3, _top_edit),
}
"""Kind of edit -> how often it is drawn, and what it does."""
EDITS = tuple(_EDITS)
