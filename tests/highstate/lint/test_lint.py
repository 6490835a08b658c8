"""Lint: one small tree for each thing that it finds, and trees in which it must find nothing."""

import pytest

from highstate.compile import CompileOptions
from highstate.files import MemoryFiles
from highstate.lint import RULES, SAMPLES, KnownStates, LintTrees, Sample, Severity, Signature, lint_trees

NOP = Signature(takes_anything=True)
KNOWN = KnownStates(
    ours={
        "test.nop": NOP,
        "pkg.installed": Signature(arguments=frozenset(("version", "pkgs"))),
        "file.managed": Signature(arguments=frozenset(("source", "mode", "template", "contents"))),
        "cmd.run": Signature(arguments=frozenset(("cwd",))),
        "user.needy": Signature(arguments=frozenset(("uid",)), required=frozenset(("uid",))),
    }
)


def lint(states, pillar=None, *, samples=SAMPLES, disabled=(), over=None, settings=None):
    """The findings of a tree of base; a bare string is the only SLS, which the top file gives to all."""
    if isinstance(states, str):
        states = {"top.sls": "base:\n  '*': [a]\n", "a.sls": states}
    trees = LintTrees(
        files=MemoryFiles({"base": {path: text.encode() for path, text in states.items()}}),
        pillar_files=MemoryFiles({"base": {path: text.encode() for path, text in (pillar or {}).items()}}),
        pillar=over or {},
    )
    return lint_trees(trees, samples, KNOWN, disabled=disabled, settings=settings)


def rules(*args, **kwargs):
    return [finding.rule for finding in lint(*args, **kwargs)]


def test_nothing_to_find():
    states = {
        "top.sls": "base:\n  '*': [web]\n",
        "web/init.sls": "include:\n  - .packages\nweb:\n  file.managed:\n    - name: /etc/web\n    - mode: 0644\n"
        "    - source: salt://web/files/web.conf.j2\n    - template: jinja\n    - require:\n      - pkg: nginx\n"
        "      - sls: web.packages\n    - onlyif: test -d /etc\n",
        "web/packages.sls": "nginx:\n  pkg.installed:\n    - version: {{ salt['pillar.get']('web:version', '1') }}\n",
        "web/files/web.conf.j2": "{% if 'web' in pillar %}{{ pillar.web }}{% endif %}\n",
        "orch/deploy.sls": "x:\n  test.nop: []\n",
    }
    pillar = {
        "top.sls": "base:\n  '*': [web]\n",
        "web.sls": "include: [more]\nweb: {version: '2'}\n",
        "more.sls": "a: 1\n",
    }
    assert lint(states, pillar) == ()


@pytest.mark.parametrize(
    ("rule", "line", "text"),
    [
        ("syntax", 2, "a:\n  {% if %}\n"),
        ("render", 2, "a:\n  {{ [].nothing.there }}: []\n"),
        ("renderer", 1, "#!cheetah\na:\n  test.nop: []\n"),
        ("yaml", 1, "a: b: c\n"),
        ("tabs", 2, "a:\n\ttest.nop: []\n"),
        ("duplicate-id", 3, "a:\n  test.nop: []\na:\n  test.nop: []\n"),
        ("form", 2, "a:\n  test.nop:\n"),
        ("missing-sls", 2, "include:\n  - gone\n"),
        ("missing-file", 1, "a:\n  file.managed:\n    - source: salt://gone\n"),
        ("dangling-requisite", 3, "a:\n  test.nop:\n    - require:\n      - pkg: gone\n"),
        ("dangling-requisite", 3, "a:\n  test.nop:\n    - require_in:\n      - test: gone\n"),
        ("dangling-requisite", 3, "a:\n  test.nop:\n    - watch_any:\n      - gone\n"),
        (
            "cycle",
            3,
            "a:\n  test.nop:\n    - require:\n      - test: b\nb:\n  test.nop:\n    - require:\n      - test: a\n",
        ),
        ("unknown-state", 2, "a:\n  pkg.instaled: []\n"),
        ("unknown-state", 2, "a:\n  nosuch.thing: []\n"),
        ("unknown-argument", 3, "a:\n  pkg.installed:\n    - versoin: 1\n"),
        ("missing-argument", 2, "a:\n  user.needy:\n    - name: x\n"),
        ("duplicate-requisite", 3, "a:\n  test.nop:\n    - require: [b]\n    - require: [b]\nb:\n  test.nop: []\n"),
        ("pillar-default", 1, "{{ pillar['a']['b'] }}:\n  test.nop: []\n"),
        ("pillar-default", 2, "a:\n  test.nop: [name: \"{{ salt['pillar.get']('x:y') }}\"]\n"),
        ("missing-grain", 1, "{{ grains.own_grain }}:\n  test.nop: []\n"),
        ("needs-machine", 1, "{{ salt['cmd.run']('id') }}:\n  test.nop: []\n"),
        ("missing-state", 2, "a:\n  git.latest: []\n"),
        ("missing-state", 2, "a:\n  docker_container.running: []\n"),
        ("not-implemented", 3, "a:\n  file.managed:\n    - dir_mode: 755\n"),
        ("no-effect", 2, "exclude:\n  - {x: y}\na:\n  test.nop: []\n"),
        ("no-effect", 3, "exclude:\n  - id: a\n  - id: gone\na:\n  test.nop: []\n"),
        ("no-effect", 2, "exclude:\n  - sls: gone\na:\n  test.nop: []\n"),
        ("no-effect", 2, "exclude:\n  - gone*\na:\n  test.nop: []\n"),
    ],
)
def test_what_is_found_and_where(rule, line, text):
    found = lint(text)
    assert [one.rule for one in found] == [rule], found
    [finding] = found
    assert (finding.file, finding.line) == ("a.sls", line), finding
    assert finding.samples == ()
    assert finding.message
    if finding.line and rule != "missing-file":
        assert f"> {finding.line} | " in finding.excerpt
        assert finding.column > 0


def test_by_policy_a_missing_source_is_a_warning():
    text = "a:\n  file.managed:\n    - source: salt://gone\n"
    [finding] = lint(text, settings=CompileOptions(missing_source="fail_state"))
    assert (finding.rule, finding.severity, finding.line) == ("missing-source", Severity.WARNING, 1)
    assert "salt://gone (saltenv base) is not in the tree: this state fails" in finding.message


def test_every_rule_is_described():
    assert all(rule.summary for rule in RULES.values())
    assert RULES["not-implemented"].severity is Severity.NOTICE


def test_top_files():
    states = {"top.sls": "base:\n  'web*':\n    - gone\n    - here\n", "here.sls": "{}", "lost.sls": "{}"}
    found = lint(states)
    assert [(one.rule, one.file, one.line) for one in found] == [
        ("unused-sls", "lost.sls", 0),
        ("missing-sls", "top.sls", 3),
    ]
    assert rules({"lost.sls": "{}"}) == []  # no top file: a formula, all of which may be used


def test_pillar_trees():
    pillar = {"top.sls": "base:\n  '*': [a, gone]\n", "a.sls": "a: [\n", "lost.sls": "b: 1\n"}
    found = lint("{}", pillar)
    assert {(one.rule, one.file) for one in found} == {
        ("yaml", "a.sls"),
        ("missing-sls", "top.sls"),
        ("unused-sls", "lost.sls"),
    }
    assert {one.tree for one in found} == {"pillar"}


def test_pillar_by_a_grain_that_a_minion_can_claim():
    pillar = {"top.sls": "base:\n  'G@role:db':\n    - a\n  'G@os:Debian':\n    - a\n", "a.sls": "a: 1\n"}
    [found] = lint("{}", pillar)
    assert (found.rule, found.tree, found.file, found.line) == ("pillar-by-grain", "pillar", "top.sls", 2)
    states = {"top.sls": "base:\n  'G@role:db':\n    - a\n", "a.sls": "{}"}
    assert rules(states) == []


def test_a_requisite_that_another_sls_may_satisfy_is_a_warning():
    states = {
        "top.sls": "base:\n  '*': [a, b]\n",
        "a.sls": "a:\n  test.nop:\n    - require:\n      - pkg: nginx\n",
        "b.sls": "b:\n  pkg.installed:\n    - name: nginx\n",
    }
    [finding] = lint(states)
    assert (finding.rule, finding.severity, finding.line) == ("requisite-not-included", Severity.WARNING, 3)
    assert "'b'" in finding.message


def test_ids_that_clash_between_sls_of_one_minion():
    states = {"top.sls": "base:\n  '*': [a, b]\n", "a.sls": "x:\n  test.nop: []\n", "b.sls": "x:\n  test.nop: []\n"}
    assert rules(states) == ["duplicate-id"]


CIRCLE = "x:\n  test.nop: [{require: [{test: y}]}]\ny:\n  test.nop: [{%s}]\nz:\n  test.nop: []\n"


@pytest.mark.parametrize(
    ("back", "found"),
    [
        ("require: [x]", True),
        ("watch_any: [{test: x}]", True),
        ("onchanges: [{id: x}]", True),
        ("require_in: [{test: x}]", False),
        ("listen: [{test: x}]", False),
    ],
)
def test_one_mistake_does_not_hide_another(back, found):
    states = {
        "top.sls": "base:\n  '*': [a, b, c]\n",
        "a.sls": "include: [b, c, gone]\n" + CIRCLE.replace("%s", back),
        "b.sls": "b:\n  pkg.instaled:\n    - require: [{pkg: nothing}]\n  test.nop:\n",
        "c.sls": "{{ nothing }}",
    }
    expected = {"missing-sls", "render", "unknown-state", "dangling-requisite", "form"} | (
        {"cycle"} if found else set()
    )
    assert set(rules(states)) == expected
    assert rules({"a.sls": CIRCLE.replace("%s", back)}) == (["cycle"] if found else [])


def test_only_for_some_samples():
    text = "a:\n  {% if grains.os_family == 'FreeBSD' %}\n  test.nop: [\n  {% else %}\n  test.nop: []\n  {% endif %}\n"
    [finding] = lint(text)
    assert finding.samples == ("FreeBSD",)
    mine = Sample(name="mine", grains={"own_grain": "x"})
    assert rules("{{ grains.own_grain }}:\n  test.nop: []\n", samples=[mine]) == []


@pytest.mark.parametrize(
    "text",
    [
        "{{ pillar.get('a') }}{{ pillar.get('a', {}).b }}",
        "{{ pillar.a | default(1) }}{{ pillar['a'] | d(1) }}",
        "{% if pillar.a is defined %}{{ pillar.a.b }}{% endif %}",
        "{% if 'a' in pillar and pillar.a.b %}{{ pillar.a.c }}{% endif %}",
        "{% if 'a' not in pillar %}{% else %}{{ pillar.a }}{% endif %}",
        "{{ pillar.a if 'a' in pillar else 1 }}",
        "{% if pillar.get('a') %}{{ pillar['a'] }}{% endif %}",
        "{% if salt['pillar.get']('a') %}{{ pillar['a'] }}{% endif %}",
        "{{ salt['pillar.get']('a') or 2 }}{{ salt.pillar.get('a:b', default=3) }}",
        "{{ salt.pillar.get(name) if name is defined }}",
        "{{ salt['grains.filter_by']({}, merge=salt['pillar.get']('a:lookup')) }}",
        "{% for x in salt['pillar.get']('a:b') %}{{ x }}{% endfor %}",
        "{% if salt['pillar.get']('a') is mapping %}{{ salt['pillar.get']('a').items() }}{% endif %}",
        "{% if 'b' in salt['pillar.get']('a', {}) %}{{ salt['pillar.get']('a:b') }}{% endif %}",
        "{% if salt['pillar.get']('a', []) != [] and x %}{{ salt['pillar.get']('a') }}{% endif %}",
        "{% if not (x and salt['pillar.get']('a') == 'b') %}{% endif %}",
        "{% set x = salt['pillar.get']('a:b') %}{% if y and x %}{{ x }}{% endif %}",
    ],
)
def test_pillar_that_is_asked_for_with_care(text):
    assert rules({"a.jinja": text}) == []


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("{{ pillar.a }}", "a"),
        ("{{ pillar['a'].b.items() }}", "a:b"),
        ("{{ pillar.a.b | default(1) }}", "a"),
        ("{% for x in pillar.a %}{% endfor %}", "a"),
        ("{% set x = salt.pillar.get('a:b') %}", "a:b"),
        ("{% if 'b' in pillar %}{{ pillar.a }}{% endif %}", "a"),
        ("{% for x in salt['pillar.get']('a').items() %}{% endfor %}", "a"),
        ("{% for x in y %}{{ salt['pillar.get']('a') }}{% endfor %}", "a"),
        ("{% if salt['pillar.get']('b') == 1 %}{{ salt['pillar.get']('a') }}{% endif %}", "a"),
        ("{% if x == pillar.a %}{% endif %}", "a"),
        ("{% set x = salt['pillar.get']('a') %}{% set y = pillar.get('x') %}{{ x }}", "a"),
        ("{{ salt['grains.filter_by']({}, default=salt['pillar.get']('a')) }}", "a"),
    ],
)
def test_pillar_that_is_not(text, key):
    [finding] = lint({"a.jinja": text})
    assert finding.rule == "pillar-default"
    assert repr(key) in finding.message
    assert rules({"a.jinja": text}, over={"a": {"b": {}}}) == []  # a key that everybody has


def test_comments_and_options_switch_rules_off():
    text = "a:\n  pkg.instaled: [] # saltern: ignore=unknown-state\nb:\n  # saltern: ignore\n  nosuch.x: []\n"
    assert rules(text) == []
    assert rules("a:\n  pkg.instaled: [] # saltern: ignore=cycle, tabs\n") == ["unknown-state"]
    assert rules("# saltern: ignore=unknown-state\n\n\na:\n  pkg.instaled: []\n") == []
    assert rules("a:\n  pkg.instaled: []\n", disabled={"unknown-state"}) == []


def test_state_modules_of_the_tree_itself():
    assert rules({"_states/own.py": "", "a.sls": "a:\n  own.thing:\n    - any: 1\n"}) == []


def test_pillar_among_states_is_not_taken_for_states():
    assert rules({"a.sls": "a:\n  test.nop: []\n", "test/pillar/a.sls": "a:\n  b: {c: 1}\n"}) == []


BROKEN = {
    "jinja": "{% set x = nothing.there %}\n",
    "syntax": "{% if %}\n",
    "open": "{{ nothing \n",
    "yaml": "q:\n  test.nop:\n  - a: b: c\n",
    "tab": "q:\n\ttest.nop: []\n",
    "import": "{% import 'gone.jinja' as x %}\n",
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_an_sls_that_fails_does_not_hide_its_other_mistakes(broken):
    lines = broken.count("\n")
    rest = "a-{{ x }}:\n  pkg.instaled: []\n{% if x %}\nb:\n  cmd.run:\n    - {{ k }}: 1\n    - cdw: /\n{% endif %}\n"
    found = {one.rule: one for one in lint({"a.sls": rest + broken if "{{ " in broken else broken + rest})}
    shift = 0 if "{{ " in broken else lines
    assert found["unknown-state"].line == 2 + shift
    assert found["unknown-argument"].line == 7 + shift
    assert f" {7 + shift} |     - cdw: /" in found["unknown-argument"].excerpt
    assert len(found) == 3, found


def test_what_an_sls_that_fails_declares_is_not_missing():
    states = {
        "a.sls": "{{ nothing }}\na:\n  pkg.installed: []\nb-{{ x }}:\n  pkg.installed: []\n",
        "b.sls": "b:\n  test.nop:\n    - require: [{pkg: a}, {pkg: b-1}, {pkg: c}]\n",
    }
    found = [(one.rule, one.message.rpartition("names ")[2]) for one in lint(states) if one.file == "b.sls"]
    assert sorted(found) == [
        ("dangling-requisite", "pkg: c, which is declared nowhere"),
        ("requisite-not-included", "pkg: a, which is in SLS 'a' and not included here"),
        ("requisite-not-included", "pkg: b-1, which is in another SLS and not included here"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "{{ nothing }}\n{{ x }}:\n  {{ y }}.z: []\n  pkg.{{ f }}:\n    - {{ k }}: 1\n",
        "{{ nothing }}\n{% if x %}\na:\n  pkg.installed:\n{% else %}\na:\n  test.nop:\n{% endif %}\n    - version: 1\n",
        "{{ nothing }}\na:\n  user.needy: []\nextend:\n  b:\n    nosuch: []\n",
        "#!py\ndef run():\n    return nothing\na:\n  pkg.instaled: []\n",
        "{{ nothing }}\n- just\n- a list\n",
    ],
)
def test_what_cannot_be_told_of_an_sls_that_fails_is_not_told(text):
    assert rules({"a.sls": text}) == ["render"]


@pytest.mark.parametrize(
    "text",
    [
        "a:\n  cmd.run:\n    - bg: true\n",  # documented, and taken out of **kwargs
        "a:\n  pkg.installed:\n    - batch: true\n    - jail: x\n",  # goes on to a package manager
    ],
)
def test_arguments_that_salt_takes_without_naming_them_are_salts(text):
    assert set(rules(text)) == {"not-implemented"}


RIGHT = {
    "states": {
        "short forms": "a: test.nop\nb:\n  test.nop\nc:\n  test: [nop]\n",
        "a state of Salt's with arguments": "a:\n  pkg.installed:\n    - pkgs: [x]\n    - version: 1\n",
        "what every state takes": "a:\n  cmd.run:\n    - names: [x, {y: [{cwd: /}]}]\n    - order: last\n"
        "    - retry: {attempts: 2}\n    - unless: x\n    - check_cmd: [x]\n    - reload_modules: true\n",
    },
    "requisites": {
        "by name": "a:\n  test.nop: [{name: x}]\nb:\n  test.nop: [{require: [{test: x}]}]\n",
        "by one of several names": "a:\n  test.nop: [{names: [x, y]}]\nb:\n  test.nop: [{require: [{test: y}]}]\n",
        "by a bare ID": "a:\n  test.nop: []\nb:\n  test.nop: [{watch: [a]}, {onchanges: [{id: a}]}]\n",
        "by a glob": "a1:\n  test.nop: []\nb:\n  test.nop: [{require: [{test: 'a*'}]}]\n",
        "on SLS": "include: [web.site]\nb:\n  test.nop: [{require: [{sls: web.site}, {sls: 'web.s*'}]}]\n",
        "backwards": "a:\n  test.nop: []\nb:\n  test.nop: [{require_in: [{test: a}]}, {use: [{test: a}]}]\n",
        "of an SLS that is included": "include: [web.site]\nb:\n  test.nop: [{require: [{test: site}]}]\n",
    },
    "excludes": {
        "of what others have": "exclude: [{id: site}, {sls: web.site}, web.*, {id: back}]\na:\n  test.nop: []\n",
        "of a name": "exclude: [{id: x}]\na:\n  test.nop: [{name: x}]\n",
    },
    "circles": {
        "a diamond": "a:\n  test.nop: []\nb:\n  test.nop: [{require: [a]}]\nc:\n  test.nop: [{require: [a]}]\n"
        "d:\n  test.nop: [{require: [b, c]}]\n",
        "a listener": "a:\n  test.nop: [{listen: [{test: b}]}]\nb:\n  test.nop: [{require: [{test: a}]}]\n",
        "includes in a circle": "include: [web.back]\na:\n  test.nop: []\n",
    },
    "SLS": {
        "a glob": "include:\n  - web.*\n",
        "relative ones": "include:\n  - .web.site\n",
        "another environment's": "include:\n  - base: web.site\n",
    },
}


@pytest.mark.parametrize("text", [text for texts in RIGHT.values() for text in texts.values()])
def test_what_is_right_is_not_told(text):
    states = {
        "top.sls": "base:\n  '*': [a, web.back, web.site]\n",
        "a.sls": text,
        "web/site.sls": "site:\n  test.nop: []\n",
        "web/back.sls": "include: [a]\nback:\n  test.nop: []\n",
    }
    assert lint(states) == ()


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a:\n  pkg.instaled: []\n", "pkg.installed"),
        ("a:\n  pgk.installed: []\n", "pkg.installed"),
        ("a:\n  file.managed:\n    - soruce: x\n", "source"),
        ("a:\n  file.managed:\n    - requires: []\n", "require"),
        ("nginx:\n  pkg.installed: []\na:\n  test.nop: [{require: [{pkg: ngnix}]}]\n", "'nginx'"),
        ("include:\n  - web.stie\n", "web.site"),
        ("exclude:\n  - sls: web.stie\n", "web.site"),
        ("b: test.nop\nabc:\n  test.nop: []\nexclude:\n  - id: abd\n", "abc"),
        ("#!jinga|yaml\na: {}\n", "jinja"),
        ("a: {{ 'x' | uper }}\n", "upper"),
        ("a: {{ salt['grains.gett']('x') }}\n", "grains.get"),
    ],
)
def test_what_is_near_is_told(text, hint):
    [finding] = lint({"a.sls": text, "web/site.sls": "{}"})
    assert hint in finding.hint, finding


def test_statements_alone_that_fail_are_a_finding():
    assert rules("{% set x = nothing.at.all %}\n") == ["render"]
