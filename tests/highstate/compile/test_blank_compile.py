"""The law of blanks: what one compile gives, filled in for another minion, equals a compile of its own."""

from __future__ import annotations

from collections import Counter
from types import ModuleType
from typing import Any

import pytest
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from highstate.compile import CompileOptions, blank_compile, compile_minion
from highstate.files import MemoryFiles
from highstate.memo import blank_plans
from highstate.memo.memo import Memo
from highstate.pillar import pillar as compiled_pillar
from highstate.ports import NO_PORTS, CompilePorts
from highstate.render import pipeline
from highstate.types import Compiled, Minion

SETTINGS = CompileOptions()

FRIENDLY = ["web1", "web2", "db-1.example.net", "mx_3", "web1x", "gw.example"]
HOSTILE = [
    "10.0.0.1", "10", "1e3", "1.5", "yes", "null", "0x1f", "2026-01-01", "12:30", "a: b", "#x", "x #y", "a\nb", "ü",
    "", "-", "---", "'q'", '"', "{{ x }}", "a/b", "salt", "one", "include", "{a: 1}", "[1]", "a,b", "no", "=", "<<",
    "~",
    ".5", "web1-", "1_000", "*", "&a", "n" * 120, "a0", "a0-x", "qzjxk0000kxjzq", "other", "e", "True", "%41", "\\x",
    "|", "0o7",
]  # fmt: skip
NOT_TEXT = [1, True, None, 1.5, ["web1"], {"k": "v"}, 0]

EXPRESSIONS = [
    "{{ V }}", "{{ V ~ '-x' }}", "x{{ V }}y", "{{ 'v%s' % V }}", "{{ V | json }}", "{{ V | upper }}", "{{ V.upper() }}",
    "{{ V[:3] }}", "{{ V | length }}", "{{ V.split('-')[0] }}", "{{ V | yaml_dquote }}", "{{ V | yaml_encode }}",
    "{{ [V, 'b'] | join('-') }}", "{{ {'k': V} }}", "{{ [V] | json }}", "{{ V | replace('web', 'x') }}",
    "{{ V | regex_replace('w', 'x') }}", "{{ salt['grains.get']('id') }}-{{ V }}", "{{ V | default('d') }}",
    "{{ {'web1': 1}.get(V, 2) }}", "{{ 'y' if V == 'web1' else V }}", "{{ 'y' if 'web' in V else 'n' }}",
    "{{ 'y' if V in 'web1 web2' else 'n' }}", "{{ 'y' if V in ['web1', 'x'] else V }}", "{{ V | int(7) }}",
    "{{ 'y' if V else 'n' }}", "{{ V | sha256 }}", "{{ V is match('w') }}",
    "{{ salt['match.glob'](V) }}",
    "{{ salt['pillar.get']('names:' ~ V, 'none') }}", "{{ header(V) }}", "{{ [V, 'm', 'b'] | sort }}",
    "{{ salt['pillar.get']('own') }}", "{{ salt['pillar.get']('deep', {}) | json }}",
    "{{ grains['list'] | join(',') }}",
    "{{ grains['list'][0] }}", "{% for k, v in pillar.get('deep', {}).items() | sort %}{{ k }}={{ v }},{% endfor %}",
    "{{ 'x'.join([V]) }}", "{{ '{}'.format(V) }}", "{{ V | indent(2) }}", "{{ V | trim }}", "{{ V * 2 }}",
    "{{ V + 'z' }}",
    "{{ block }}", "{{ shared.host }}", "{{ salt['config.get']('id') }}",
    "{{ salt['slsutil.merge']({'a': V}, {'b': 1}) | json }}", "{{ V | tojson }}",
    "{{ V.startswith('w') }}", "{{ '%s' | format(V) }}", "{{ V | string | reverse }}", "{{ ns.v }}", "{{ V.nope }}",
    "{{ salt['grains.filter_by']({'web1': 'a', 'default': 'b'}, grain='id') }}",
    "fixed", "{{ V | list | length }}",
    "{{ V is string }}", "{{ V < 'n' }}", "{{ (V ~ '') == V }}", "{{ V | first }}", "{{ 'web1x'.replace(V, '') }}",
    "{{ grains | json | length }}", "{{ loaded.h }}", "{{ V | yaml }}", "{{ V | yaml_squote }}", "{{ [V] }}",
    "{{ (V, 1) }}",
]  # fmt: skip

DECLARATIONS = [
    "{id}:\n  test.nop:\n    - value: {own}\n",
    "{id}:\n  test.nop:\n    - value: '{own}'\n",
    '{id}:\n  test.nop:\n    - value: "{own}"\n',
    "{id}:\n  file.managed:\n    - contents: |\n        # Managed for {own}\n        text\n",
    "{id}:\n  file.managed:\n    - contents: >-\n        a {own}\n        b\n",
    "{id}:\n  test.nop:\n    - name: {own}\n",
    "{id}-{own}:\n  test.nop: []\n",
    "{id}:\n  test.nop:\n    - name: /etc/{own}\n    - require:\n      - test: {other}\n",
    "{id}:\n  test.nop:\n    - names:\n      - {own}\n      - other\n      - web1\n",
    "{id}:\n  test.nop:\n    - require:\n      - test: /etc/{own}\n",
    "{id}-{own}:\n  test.nop: []\n",
    "{own}:\n  test.nop: []\n",
    "{id}:\n  test.nop:\n    - require:\n      - test: {id2}-{own}\n",
    "{id}:\n  test.nop:\n    - require:\n      - test: '*'\n",
    "{id}:\n  test.nop:\n    - order: {own}\n",
    "{id}:\n  test.{own}: []\n",
    "{id}:\n  {own}:\n    - nop\n",
    "{id}:\n  test.nop:\n    - {own}: 1\n",
    "{id}:\n  test.nop:\n    - value: {{a: {own}, {own}: b}}\n",
    "{id}:\n  test.nop:\n    - value: [{own}, b]\n",
    "{id}:\n  test.nop:\n    - value: &x {own}\n    - other: *x\n",
    "{id}:\n  test.nop:\n    - value: !!str {own}\n",
    "{id}:\n  test.nop:\n    - use:\n      - test: {own}\n",
    "{id}:\n  test.nop:\n    - value: {own}\n    - require_in:\n      - test: {other}\n",
    "{id}:\n  file.managed:\n    - source: salt://t.jinja\n    - template: jinja\n    - context: {{v: {own}}}\n",
    "{id}:\n  file.managed:\n    - source: salt://{own}.txt\n",
    "{id}:\n  file.managed:\n    - name: /f/{own}\n    - source: salt://t.jinja\n    - template: jinja\n",
    "{id}:\n  test.nop:\n    - value: {own}://x.txt\n",
    "{id}:\n  cmd.run:\n    - name: echo {own}\n    - onlyif: {own}\n",
    "# Managed for {own}\n{id}:\n  test.nop: []\n",
    "{id}: test.nop\n",
    "include:\n  - {own}\n",
    "exclude:\n  - id: {own}\n",
    "extend:\n  {other}:\n    test:\n      - value: {own}\n",
    "{{% do grains.update({{'id': 'changed'}}) %}}\n{id}:\n  test.nop:\n    - value: {own}\n",
    "{{% set x = pillar.pop('own', 1) %}}\n{id}:\n  test.nop:\n    - value: {own}\n",
]

PILLAR = """\
own: {{ grains.inner | json }}
deep:
  host: {{ grains.id | json }}
  os: {{ grains.os }}
  b: {{ grains.fqdn | json }}
"""
OF_PILLAR = [
    "own: {own}\n", "own: '{own}'\n", "deep:\n  host: {own}\n  more: [{own}, b]\n", "deep:\n  {own}: 1\n  web1: 2\n",
    "names:\n  {own}: n\n", "include:\n  - r:\n      defaults:\n        given: {own}\n",
    "include:\n  - r:\n      key: {own}\n",
    "include:\n  - {own}\n", "text: |\n  kept for {own}\n", "{own}: x\n", "list: [{own}]\n", "x: y\n",
]  # fmt: skip

PREFIX = """\
{% macro header(who) %}# kept for {{ who }}{% endmacro %}
{% set block %}b {{ grains.id }}{% endset %}
{% set ns = namespace(v=grains.id) %}
{% from 'map.jinja' import shared with context %}
"""
LOADED = "{% load_yaml as loaded %}\nh: {{ grains.id }}\n{% endload %}\n"
VALUES = ["grains.id", "grains['id']", "pillar.own", "grains.fqdn", "grains['list'][0]"]
NAMES = ["a", "b", "c"]


@st.composite
def sls(draw: st.DrawFn, names: str) -> str:
    def expression() -> str:
        text = draw(st.sampled_from(EXPRESSIONS))
        # Mostly a plain one, or nothing would be left of the blanks.
        text = text if draw(st.integers(0, 3)) == 0 else draw(st.sampled_from(EXPRESSIONS[:6]))
        return text.replace("V", draw(st.sampled_from(VALUES)))

    usual = st.sampled_from(DECLARATIONS[:7])
    chosen = draw(st.lists(st.one_of(usual, usual, usual, st.sampled_from(DECLARATIONS)), min_size=1, max_size=4))
    made = PREFIX
    for at, text in enumerate(chosen):
        own = expression()
        made += LOADED if "loaded" in own else ""
        made += text.format(
            id=f"{names}{at}",
            id2=f"{names}{draw(st.integers(0, 3))}",
            own=own,
            other=f"{names}{draw(st.integers(0, 3))}",
        )
    return made


@st.composite
def of_pillar(draw: st.DrawFn) -> str:
    chosen = draw(st.lists(st.sampled_from(OF_PILLAR), min_size=1, max_size=3, unique=True))
    usual = draw(st.sampled_from(EXPRESSIONS[:12]))
    own = draw(st.one_of(st.just("{{ V }}"), st.just(usual), st.sampled_from(EXPRESSIONS)))
    return "".join(
        text.format(own=own.replace("V", draw(st.sampled_from(["grains.id", "grains.fqdn"])))) for text in chosen
    )


tree = st.fixed_dictionaries(
    {
        "pillar/p.sls": st.one_of(
            st.just(PILLAR), of_pillar().map(lambda text: PILLAR.replace("own:", "own1:") + text)
        ),
        "pillar/q.sls": st.one_of(st.just(""), st.just("x: {{ grains.id }}\n"), of_pillar()),
        "pillar/r.sls": st.sampled_from(["r: {{ grains.id }}\n", "r: {{ given | default('d') | upper }}\n"]),
        "one.sls": sls("a"),
        "two.sls": sls("b"),
        "t.jinja": st.one_of(
            st.sampled_from(["{{ v }}", "{{ grains.id }}", "{{ pillar.own }}", "text", "{{ name }}", "{{ x.y }}"]),
            st.sampled_from(EXPRESSIONS).map(
                lambda text: PREFIX + text.replace("V", "grains.id") + "\n{{ grains.fqdn }}"
            ),
        ),
        "map.jinja": st.sampled_from(
            ["{% set shared = {'host': grains.id} %}", "{% set shared = {'host': 'h'} %}{% do shared.update(pillar) %}"]
        ),
        "web1.txt": st.just("first"),
    }
)
friendly = st.sampled_from(FRIENDLY)
word = st.one_of(friendly, friendly, friendly, friendly, st.sampled_from(HOSTILE))
value = st.one_of(word, word, word, word, st.sampled_from(NOT_TEXT))
fleet = st.lists(st.tuples(word, value, value, st.sampled_from(["Debian", "RedHat"])), min_size=3, max_size=6)


def compiled(
    content: dict[str, str],
    who: tuple[str, object, object, str],
    memo: Memo | None = None,
    ports: CompilePorts = NO_PORTS,
) -> Compiled:
    states = {"top.sls": "base:\n  '*':\n    - one\n    - two\n", **content}
    pillar = {"top.sls": "base:\n  '*':\n    - p\n    - q\n", "q.sls": "", "p.sls": PILLAR}
    pillar |= {path.removeprefix("pillar/"): text for path, text in content.items() if path.startswith("pillar/")}
    grains = {"id": who[0], "fqdn": who[1], "inner": who[2], "os": who[3], "list": [who[0], "b"]}
    minion = Minion(id=who[0], grains=grains)
    trees = [MemoryFiles({"base": {path: text.encode() for path, text in one.items()}}) for one in (states, pillar)]
    return compile_minion(trees[0], trees[1], minion, SETTINGS, memo, ports)


@pytest.fixture(autouse=True)
def _always_worth_it(monkeypatch):
    monkeypatch.setattr(blank_plans, "FEWEST", 0)
    monkeypatch.setattr(blank_plans, "PRICE", 0)
    monkeypatch.setattr(blank_plans, "PROVEN", 0)


def assert_same(found: Compiled, fresh: Compiled) -> None:
    assert found == fresh
    assert repr(found) == repr(fresh)
    assert found.files == fresh.files or not fresh.ok


@settings(max_examples=examples(200), deadline=None, suppress_health_check=list(HealthCheck))
@given(trees=st.lists(tree, min_size=1, max_size=2), minions=fleet)
def test_filled_in_is_compiled_afresh(trees: list[dict[str, str]], minions: list[tuple[str, object, object, str]]):
    memo = Memo()
    for content in trees:
        for who in minions + minions:
            assert_same(compiled(content, who, memo), compiled(content, who))
    assert memo.conflicts == 0


HEADED = {
    "one.sls": PREFIX
    + "a:\n  file.managed:\n    - name: /etc/{{ grains.id }}\n    - contents: |\n        {{ header(grains.fqdn) }}\n"
    + "b-{{ grains.id }}:\n  test.nop:\n    - require:\n      - file: /etc/{{ grains.id }}\n",
    "two.sls": "c:\n  test.nop:\n    - value: {{ pillar.own }}\n    - plain: 1\n",
    "map.jinja": "{% set shared = {} %}",
}


@pytest.fixture
def served(monkeypatch) -> Counter[str]:
    """How often blanks were filled in: of states, of a pillar, of a file."""
    counts: Counter[str] = Counter()

    def counting(module: ModuleType, name: str, kind: str) -> None:
        find = getattr(module, name)

        def counted(*given: Any) -> Any:
            found = find(*given)
            counts[kind] += found is not None
            return found

        monkeypatch.setattr(module, name, counted)

    counting(blank_compile, "find", "states")
    counting(compiled_pillar, "filled_pillar", "pillar")
    counting(pipeline, "_filled", "file")
    return counts


def test_further_minions_are_filled_in(served):
    memo = Memo()
    for number, name in enumerate(["web1", "web2", "db-1.example.net", "mx_3"]):
        who = (name, f"{name}.net", f"v{name}", "Debian")
        found = compiled(HEADED, who, memo)
        assert_same(found, compiled(HEADED, who))
        assert bool(found.like) == (number > 1)
    assert (served["states"], served["pillar"]) == (2, 2)
    assert [chunk.name for chunk in found.lowstate] == ["/etc/mx_3", "b-mx_3", "c"]


def test_what_is_learned_of_others_takes_no_plan_away(served):
    memo = Memo()
    by_system = {**HEADED, "two.sls": "c:\n  test.nop:\n    - value: {{ {'Debian': 1, 'Rocky': 2}[grains.os] }}\n"}
    by_system["two.sls"] += "    - own: {{ pillar.own }}\n"
    for name, own, system in [
        ("web1", "v", "Debian"),
        ("web2", "v", "Debian"),
        ("db1", "w", "Rocky"),
        ("db2", "x", "Rocky"),
        ("db3", "y", "Rocky"),
    ]:
        compiled(by_system, (name, f"{name}.net", own, system), memo)
    before = served["states"]
    who = ("web3", "web3.net", "v", "Debian")
    assert_same(compiled(by_system, who, memo), compiled(by_system, who))
    assert served["states"] == before + 1


def test_templates_that_no_blank_concerns_are_not_rendered_again(monkeypatch):
    memo, rendered = Memo(), []
    fresh = pipeline._fresh

    def counted(path: str, context: Any, *rest: Any) -> Any:
        rendered.extend([path] if context.blanks is not None else [])
        return fresh(path, context, *rest)

    monkeypatch.setattr(pipeline, "_fresh", counted)
    plain = {**HEADED, "two.sls": "c:\n  test.nop:\n    - value: {{ grains.os }}\n"}
    for name in "web1", "web2":
        compiled(plain, (name, f"{name}.net", "v", "Debian"), memo)
    assert "one.sls" in rendered
    assert "two.sls" not in rendered


@pytest.mark.parametrize("own", ["10", "yes", "1.5e+3", "1_0", "2026-01-01", "x y", "", "n" * 120, 5, None])
def test_what_yaml_would_read_otherwise_is_compiled(own: object, served):
    memo = Memo()
    for name, value in ("web1", "w1"), ("web2", "w2"), ("web3", "w3"), ("web4", own):
        who = (name, name, value, "Debian")
        assert_same(compiled(HEADED, who, memo), compiled(HEADED, who))
    assert served["states"] == 1


@pytest.mark.parametrize("name", ["web1", "one", "other"])
def test_texts_that_become_one_are_compiled(name: str, served):
    memo = Memo()
    text = "{{ grains.id }}:\n  test.nop: []\nother:\n  test.nop:\n    - value: web1\n"
    for each in "web7", "web8", "web9", name:
        who = (each, each, "x", "Debian")
        assert_same(
            compiled({"one.sls": text, "two.sls": ""}, who, memo), compiled({"one.sls": text, "two.sls": ""}, who)
        )
    assert served["states"] == 1


def test_questions_are_asked_of_each_minion(served):
    memo = Memo()
    text = "a:\n  test.nop:\n    - value: {{ 'yes' if grains.id.startswith('db') else 'no' }} {{ grains.id }}\n"
    content = {"one.sls": text, "two.sls": ""}
    for each in "web1", "web2", "web3", "db1", "db2", "web4":
        who = (each, each, "x", "Debian")
        assert_same(compiled(content, who, memo), compiled(content, who))
    assert served["states"] == 3  # web3, db2, web4


@pytest.mark.parametrize(
    "look",
    [
        "{{ grains.id | upper }}",
        "{{ {'web1': 1, 'web3': 2}.get(grains.id) }}",
        "{{ grains.id | regex_replace('1', 'x') }}",
        "{{ salt['grains.filter_by']({'web1': 'a', 'default': 'b'}, grain='id') }}",
        "{{ 'web1x'.replace(grains.id, '') }}",
        "{{ salt['pillar.get'](grains.id, 'd') }}",
        "{{ grains.id | sha256 }}",
        "{{ 'a' if grains.id is match('.*1') else 'b' }}",
    ],
)
def test_a_value_that_is_looked_into_is_no_blank(look: str):
    memo = Memo()
    content = {"one.sls": f"a:\n  test.nop:\n    - value: x{look}\n    - own: {{{{ pillar.own }}}}\n", "two.sls": ""}
    for each in "web1", "web2", "web3", "web1", "web3":
        for own in "p", "q", "r":
            who = (each, each, own, "Debian")
            assert_same(compiled(content, who, memo), compiled(content, who))


def test_secrets_are_known_of_filled_compiles_too():
    memo = Memo()
    content = {
        **HEADED,
        "two.sls": "c:\n  test.nop:\n    - value: {{ pillar.own }} {{ salt['vault.read_secret']('s', 'k') }}\n",
    }
    for name in "web1", "web2", "web3":
        done = compiled(content, (name, name, f"v{name}", "Debian"), memo, CompilePorts(secrets=Vault()))
        assert done.ok, done.errors
        assert done.secrets == {"s3cr3t"}
        assert done.lowstate[2].arguments["value"] == f"v{name} s3cr3t"
    assert done.like


class Vault:
    def read_secret(self, path: str, minion: Minion) -> dict[str, str]:
        return {"k": "s3cr3t"}

    def list_secrets(self, path: str, minion: Minion) -> list[str]:
        return ["k"]


NOT_TO_BE_FILLED = {
    "a name of an anchor": ("a:\n  test.nop:\n    - value: &{{ V }} x\n    - other: *{{ V }}\n", "db.net"),
    "a key that is there twice": (
        "a:\n  test.nop:\n    - value: {{ '{' }}{{ V }}: 1, web1: 2}\n    - own: x\n",
        "web1",
    ),
    "a key that nothing runs": (
        "a:\n  test.nop:\n    - value: {{ '{' }}{{ V }}: 1, web1: 2}\nb:\n  test.nop: []\nexclude:\n  - id: a\n",
        "web1",
    ),
    "a value that a requisite names": (
        "a:\n  test.nop:\n    - value: {{ V }}\n    - more: 1\nb:\n  test.nop:\n    - use:\n      - test: web9x\n",
        "web9x",
    ),
    "an SLS that a requisite names": (
        "a:\n  test.nop: []\nb:\n  test.nop:\n    - value: {{ V }}\n    - require_in:\n      - sls: {{ V }}\n",
        "two",
    ),
    "the beginning of a URL": ("a:\n  test.nop:\n    - value: {{ V }}://web1.txt\n", "salt"),
    "a pattern": (
        "b:\n  test.nop:\n    - require:\n      - test: a-db*\na-db0:\n  test.nop: []\na-{{ V }}:\n  test.nop: []\n",
        "db1",
    ),
    "the order of names": (
        "a:\n  test.nop:\n    - name: {{ V }}\n    - order: 1\nb:\n  test.nop:\n    - name: n\n    - order: 1\n",
        "m1",
    ),
    "a part of a text": ("a:\n  test.nop:\n    - value: {{ 'y' if V in 'db1 db2' else 'n' }}\n", "db1"),
    "an argument of an include": ("a:\n  test.nop:\n    - value: {{ pillar.r }}\n", "db1"),
}


@pytest.mark.parametrize("what", NOT_TO_BE_FILLED)
def test_the_last_of_a_fleet_is_compiled_as_it_is(what: str):
    memo = Memo()
    text, last = NOT_TO_BE_FILLED[what]
    content = {"one.sls": text.replace("V", "grains.id"), "two.sls": "c:\n  test.nop: []\n", "web1.txt": "first"}
    content["pillar/q.sls"] = "include:\n  - r:\n      defaults:\n        given: {{ grains.id }}\n"
    content["pillar/r.sls"] = "r: {{ 'd' if given.startswith('d') else 'o' }}\n"
    for each in "web5", "web6", "web7", "xeb8", last:
        who = (each, each, "x", "Debian")
        assert_same(compiled(content, who, memo), compiled(content, who))


def test_files_are_filled_in(served):
    memo = Memo()
    text = "a:\n  file.managed:\n    - source: salt://t.jinja\n    - template: jinja\n    - context: {c: 1}\n"
    content = {
        "one.sls": text,
        "two.sls": "",
        "t.jinja": "# for {{ grains.id }}\n{{ 'x' if grains.id == 'db' else c }}\n",
    }
    digests = set()
    for name in "web1", "web2", "web3", "10.0.0.1", "a: b", "db", "yes", "web1":
        who = (name, "f", "x", "Debian")
        found = compiled(content, who, memo)
        assert_same(found, compiled(content, who))
        digests.add(found.contents[found.lowstate[0].tag].digest)
    assert len(digests) == 7
    assert served["file"] > 0


def test_a_list_that_is_in_itself_again_and_again_is_gone_through_once():
    memo = Memo()
    doubled = "{% set ns = namespace(v=['a']) %}{% for _ in range(40) %}{% set ns.v = [ns.v, ns.v] %}{% endfor %}"
    look = "{{ ns.v | difference([1]) | length }} {{ 'x' if [ns.v, ns.v] is sequence else 'y' }} {{ grains.id }}"
    content = {"one.sls": f"{doubled}a:\n  test.nop:\n    - value: {look}\n", "two.sls": ""}
    for name in "web1", "web2", "web3":
        who = (name, "f", "x", "Debian")
        assert_same(compiled(content, who, memo), compiled(content, who))
