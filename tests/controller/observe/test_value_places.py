"""Lines of arguments, and the keys of pillar that they read."""

from __future__ import annotations

from controller.observe.value_places import PillarReads, arguments_in, block_of, filled_in, lines_of_keys, says

SLS = """{% set port = pillar['app']['port'] %}
{% from "map.jinja" import app with context %}
app-config:
  file.managed:
    - name: /etc/app.conf
    - contents: |
        port {{ port }}
        user {{ app.user }}
    - mode: '0644'
    - require:
      - pkg: app
{% for name, site in pillar.get('sites', {}).items() %}
site-{{ name }}:
  file.managed:
    - name: /srv/{{ name }}
    - contents: {{ site.root }}
{% endfor %}
other:
  test.nop: []
"""
FILES = {"map.jinja": "{% set app = salt['pillar.get']('app:lookup', {}) %}\n"}


def reads(identifier: str, argument: str) -> list[str]:
    block = block_of(SLS, identifier)
    assert block is not None
    lines = arguments_in(SLS, block)[argument]
    return PillarReads(SLS, FILES.get).of("\n".join(SLS.splitlines()[lines.first - 1 : lines.last]))


def test_arguments_have_their_lines():
    block = block_of(SLS, "app-config")
    assert block is not None
    assert (block.first, block.last) == (3, 11)
    found = arguments_in(SLS, block)
    assert {name: (one.first, one.last) for name, one in found.items()} == {
        "name": (5, 5),
        "contents": (6, 8),
        "mode": (9, 9),
        "require": (10, 11),
    }
    assert block_of(SLS, "none") is None


def test_variables_imports_and_loops_lead_to_pillar():
    assert reads("app-config", "contents") == ["app:port", "app:lookup:user"]
    assert reads("app-config", "mode") == []
    assert reads("site-blog", "contents") == ["sites:*:root"]


def test_the_key_of_a_loop_is_found_by_name_or_value():
    pillar = {"sites": {"blog": {"root": "/b"}, "shop": {"root": "/s"}}}
    assert filled_in("sites:*:root", pillar, "/b", "site-blog") == "sites:blog:root"
    assert filled_in("sites:*:root", pillar, "/s", "unnamed") == "sites:shop:root"
    assert filled_in("sites:*:root", pillar, "/x", "unnamed") == "sites"
    assert filled_in("none:a", pillar, "", "") == "none"


def test_keys_of_yaml_and_their_values():
    text = "app:\n  port: 5432  # of all\n  'name': \"x\"\n"
    assert lines_of_keys(text) == {("app",): 1, ("app", "port"): 2, ("app", "name"): 3}
    assert says("  port: 5432  # of all", 5432)
    assert says("  'name': \"x\"", "x")
    assert not says("  port: 5433", 5432)
