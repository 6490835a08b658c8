"""Makes trees of any size for `bench_language`: ten low chunks to an SLS, everything that real trees use in them.

`one_class` gives every minion the same SLS, and every SLS prints the minion's id; Salt can compile it too. `fleet`
gives each role SLS of its own, and five values that each minion has for itself. Nothing here depends on anything but
the arguments. Run as a script, it writes the first kind of tree to a folder (Salt reads it from there).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from highstate.files import MemoryFiles

CHUNKS = 10
"""Low chunks of one SLS."""
CHAIN = 5
"""SLS that include one another, one after the other."""
PILLARS = 10
OWN = ("address", "rack", "serial", "token", "weight")
"""The values that each minion of a fleet has for itself, in a pillar file of its own."""

Tree = Mapping[str, str]

_PLATFORM = """\
{% set known = {
    'Debian': {'prefix': '/srv/bench/debian', 'owner': 'www-data', 'daemon': 'apache2', 'packages': ['one', 'two']},
    'RedHat': {'prefix': '/srv/bench/redhat', 'owner': 'apache', 'daemon': 'httpd', 'packages': ['three', 'four']},
    'Suse': {'prefix': '/srv/bench/suse', 'owner': 'wwwrun', 'daemon': 'apache2', 'packages': ['five', 'six']},
} %}
{% set platform = salt['grains.filter_by'](known, grain='os_family', default='Debian',
                                           merge=salt['pillar.get']('platform', {})) %}
"""

_MACROS = """\
{% macro daemon(role, files, enable=True) %}
{{ role }}-daemon:
  test.succeed_without_changes:
    - name: {{ role }}-{{ suffix }}
    - enable: {{ enable }}
    - watch:
    {%- for one in files %}
      - file: {{ one }}
    {%- endfor %}
    - require_in:
      - test: {{ role }}-last
{% endmacro %}
{% set suffix = <<WHO>> ~ '-daemon' %}
{% macro banner(role) -%}
# kept for {{ <<WHO>> }} ({{ grains['os'] }}), {{ role }}
{%- endmacro %}
"""

_SLS = """\
{% from "lib/platform.jinja" import platform with context %}
{% from "lib/macros.jinja" import daemon, banner with context %}
{% set own = salt['pillar.get']('roles:<<ROLE>>', {}) %}
{% set port = salt['pillar.get']('roles:<<ROLE>>:port', 8000) %}
{% set files = own.get('files', ['main', 'more', 'log']) %}

<<INCLUDE>>
<<ROLE>>-first:
  test.nop:
    - name: first of <<ROLE>> at {{ port }}
<<AFTER>>
<<ROLE>>-base:
  file.managed:
    - name: {{ platform.prefix }}/<<ROLE>>/base
    - contents: 'owner={{ platform.owner }}<<OWN>>'
    - mode: '0640'
    - makedirs: True
    - require:
      - test: <<ROLE>>-first

{% for file in files %}
<<ROLE>>-{{ file }}:
  file.managed:
    - name: {{ platform.prefix }}/<<ROLE>>/{{ file }}.conf
    - contents: |
        {{ banner('<<ROLE>>') }}
        port={{ port + loop.index0 }}
        workers={{ own.get('workers', 2) * loop.index }}
        {%- for key, value in own.get('options', {}).items() | sort %}
        {{ key }}={{ value }}
        {%- endfor %}
    - use:
      - file: <<ROLE>>-base
    - require:
      - file: <<ROLE>>-base
{% endfor %}

<<ROLE>>-packages:
  test.succeed_with_changes:
    - names:
    {%- for package in platform.packages %}
      - <<ROLE>>-{{ package }}
    {%- endfor %}
    - require:
      - test: <<ROLE>>-first
    {%- if grains['os_family'] == 'Debian' %}
    - refresh: True
    {%- else %}
    - refresh: False
    {%- endif %}

{{ daemon('<<ROLE>>', ['<<ROLE>>-main', '<<ROLE>>-more'], enable=own.get('enable', True)) }}

<<ROLE>>-note:
  test.nop:
    - name: note of <<ROLE>>
    - onchanges:
      - file: <<ROLE>>-log
    - watch_in:
      - test: <<ROLE>>-last

<<ROLE>>-last:
  test.nop:
    - name: last {{ platform.daemon }} of <<ROLE>>
    - require:
      - test: <<ROLE>>-packages
<<EXTEND>>
"""

_PILLAR = """\
{% set site = 'east' if <<SITE>> else 'west' %}
site_<<K>>: {{ site }}
roles:
{%- for number, role in <<ROLES>> %}
  {{ role }}:
    port: {{ 8000 + <<K>> + number * 10 }}
    workers: {{ 4 if grains['os_family'] == 'Debian' else 2 }}
    enable: {{ number % 2 == 0 }}
    files: [main, more, log]
    options:
      site: {{ site }}
      team: team-{{ number % 7 }}
      host: {{ <<WHO>> }}
      timeout: {{ 30 + number }}
{%- endfor %}
people_<<K>>:
{%- for number in range(10) %}
  person_<<K>>_{{ number }}:
    uid: {{ 2000 + <<K>> * 10 + number }}
    shell: /bin/{{ 'bash' if number % 2 else 'sh' }}
    groups: [staff, g{{ number % 3 }}]
{%- endfor %}
"""


def one_class(states: int) -> tuple[Tree, Tree]:
    """States and pillar of a tree that gives all minions the same SLS, which all print the minion's id."""
    roles = [f"role_{number:04d}" for number in range(states // CHUNKS)]
    who = "grains['id']"
    tree = {
        "lib/platform.jinja": _PLATFORM,
        "lib/macros.jinja": _MACROS.replace("<<WHO>>", who),
        "top.sls": _top({"*": roles}),
        **{f"{role}/init.sls": _sls(role, roles[at - 1] if at % CHAIN else "", at) for at, role in enumerate(roles)},
    }
    return tree, _pillar(roles, who, f"{who}.endswith(('0', '2', '4', '6', '8'))")


def fleet(roles: int, states: int, minions: int) -> tuple[Tree, Tree]:
    """States and pillar of a tree with `roles` roles of `states` states each, and a pillar file for each minion.

    A role's SLS stand in a folder of its own. Each of a minion's own values is printed by one SLS of its role.
    """
    tree = {"lib/platform.jinja": _PLATFORM, "lib/macros.jinja": _MACROS.replace("<<WHO>>", "grains['os_family']")}
    targets, named = {}, []
    for number in range(roles):
        names = [f"{role_of(number, roles)}_{at:02d}" for at in range(states // CHUNKS)]
        named.append(names)
        targets[f"role:{role_of(number, roles)}"] = [f"{role_of(number, roles)}.{name}" for name in names]
        for at, name in enumerate(names):
            own = f" {OWN[at]}={{{{ pillar['{OWN[at]}'] }}}}" if at < len(OWN) else ""
            before = names[at - 1] if at % CHAIN else ""
            text = _sls(name, before, at, own).replace(f"  - {before}\n", f"  - .{before}\n")
            tree[f"{role_of(number, roles)}/{name}.sls"] = text
    tree["top.sls"] = _top(targets, "grain")
    pillar = {}
    for number, names in enumerate(named):
        pillar |= {
            f"{role_of(number, roles)}/{path}": text
            for path, text in _pillar(names, "grains['os_family']", "grains['os_family'] == 'Debian'").items()
            if path != "top.sls"
        }
    entries = [f"{{{{ grains['role'] }}}}.data_{k}" for k in range(PILLARS)]
    pillar["top.sls"] = _top({"*": [*entries, "hosts.{{ grains['id'] }}"]})
    for number in range(minions):
        pillar[f"hosts/{minion_id(number)}.sls"] = own_values(number)
    return tree, pillar


def role_of(number: int, roles: int) -> str:
    """The role of the minion with this number."""
    return f"role{number % roles:02d}"


def minion_id(number: int) -> str:
    """The id of the minion with this number."""
    return f"minion-{number:05d}"


def own_values(number: int, salt: str = "") -> str:
    """The pillar file of one minion."""
    values = (f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}", f"r{number % 97}", f"sn{number}", f"t{number}")
    return "".join(f"{key}: {value}{salt}\n" for key, value in zip(OWN, (*values, f"w{number % 1000}"), strict=True))


def files_of(tree: Tree) -> MemoryFiles:
    """A tree as the compiler takes it."""
    return MemoryFiles({"base": {path: text.encode() for path, text in tree.items()}})


def write(tree: Tree, folder: Path) -> None:
    """Put a tree into a folder."""
    for path, text in tree.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def _sls(role: str, before: str, at: int, own: str = "") -> str:
    include = extend = after = ""
    if before:
        include = f"include:\n  - {before}\n"
        extend = f"\nextend:\n  {before}-note:\n    test:\n      - watch:\n        - file: {before}-main\n"
        after = f"    - require:\n      - test: {before}-first\n" if at % CHAIN == 1 else ""
    text = _SLS.replace("<<INCLUDE>>", include).replace("<<EXTEND>>", extend).replace("<<AFTER>>", after)
    return text.replace("<<OWN>>", own).replace("<<ROLE>>", role)


def _pillar(roles: list[str], who: str, site: str) -> Tree:
    tree = {}
    for k in range(PILLARS):
        mine = [(number, role) for number, role in enumerate(roles) if number % PILLARS == k]
        text = _PILLAR.replace("<<K>>", str(k)).replace("<<ROLES>>", repr(mine))
        tree[f"data_{k}.sls"] = text.replace("<<SITE>>", site).replace("<<WHO>>", who)
    return {**tree, "top.sls": _top({"*": [f"data_{k}" for k in range(PILLARS)]})}


def _top(targets: Mapping[str, list[str]], matcher: str = "") -> str:
    lines = ["base:"]
    for target, names in targets.items():
        lines.append(f"  '{target}':")
        lines += [f"    - match: {matcher}"] if matcher else []
        lines += [f"    - {name}" for name in names]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for name, content in zip(("states", "pillar"), one_class(int(sys.argv[2])), strict=True):
        write(content, Path(sys.argv[1]) / name)
