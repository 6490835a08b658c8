"""What templates change in the pillar: seen by later SLS of the compile, by no other compile, and never memoised."""

import pytest

from highstate.compile import CompileOptions, compile_minion
from highstate.files import MemoryFiles
from highstate.memo.memo import Memo
from highstate.types import Compiled, Minion

SETS = "{% if grains.id in ('a', 'b') %}{% do salt['pillar.get']('app').update({'x': grains.id}) %}{% endif %}"
STATES = {
    "top.sls": "base: {'*': [sets, reads, file]}",
    "sets.sls": SETS,
    "reads.sls": """
r:
  test.nop:
    - x: {{ salt['pillar.get']('app:x') }}
    - app: {{ salt['pillar.get']('app') | tojson }}
""",
    "file.sls": "/f: {file.managed: [{source: 'salt://f'}, {template: jinja}]}",
    "f": "{{ salt['pillar.get']('app:x') }}",
}
PILLAR = {"top.sls": "base: {'*': [p]}", "p.sls": "app: {x: before}"}


def compiled(minion_id: str, memo: Memo | None) -> Compiled:
    trees = [MemoryFiles({"base": {path: text.encode() for path, text in one.items()}}) for one in (STATES, PILLAR)]
    return compile_minion(*trees, Minion(id=minion_id, grains={"id": minion_id}), CompileOptions(), memo)


@pytest.mark.parametrize("order", ["abcd", "cdab", "cadb", "dcbaabcd"])
def test_a_change_is_that_of_its_minion(order: str) -> None:
    memo = Memo()
    for minion_id in order:
        done = compiled(minion_id, memo)
        assert done == compiled(minion_id, None)
        expected = minion_id if minion_id in "ab" else "before"
        [reads] = [chunk for chunk in done.lowstate if chunk.id == "r"]
        assert reads.arguments["x"] == expected
        assert reads.arguments["app"] == {"x": expected}
        assert done.pillar == {"app": {"x": "before"}}
        assert "#!pillar" in done.volatile if minion_id in "ab" else not done.volatile


def test_templates_of_files_see_the_pillar_as_it_is() -> None:
    [changed] = compiled("a", None).contents.values()
    [plain] = compiled("c", None).contents.values()
    assert changed.digest == plain.digest


def test_changed_variables_stay_changed_for_the_sls_after_it_and_are_none_of_the_functions() -> None:
    """As Salt 3008.3 answers."""
    one = """
{% do salt['pillar.get']('app').update({'x': 1}) %}
{% do pillar.app.update({'z': 2}) %}
{% do pillar.app.l.append(3) %}
{% do pillar.update({'new': 5}) %}
{% do grains.update({'mine': 7}) %}
{% do opts.update({'own': 8}) %}
"""
    two = """
r:
  test.nop:
    - app: {{ pillar.app | tojson }}
    - others: {{ [pillar.new, grains.mine, opts.own] }}
    - of_pillar: {{ [salt['pillar.get']('app:x'), salt['pillar.get']('app:z', 'none'), salt['pillar.get']('app:l')] }}
    - none: {{ [salt['pillar.get']('new', 'none'), salt['grains.get']('mine', 'none')] }}
"""
    states = {"top.sls": "base: {'*': [one, two]}", "one.sls": one, "two.sls": two}
    pillar = {"top.sls": "base: {'*': [p]}", "p.sls": "app: {y: 1, l: [1]}"}
    trees = [MemoryFiles({"base": {path: text.encode() for path, text in each.items()}}) for each in (states, pillar)]
    memo = Memo()
    for _ in range(2):
        done = compile_minion(*trees, Minion(id="m"), CompileOptions(), memo)
        assert not done.errors
        [reads] = done.lowstate
        assert reads.arguments["app"] == {"y": 1, "z": 2, "l": [1, 3]}
        assert reads.arguments["others"] == [5, 7, 8]
        assert reads.arguments["of_pillar"] == [1, "none", [1]]
        assert reads.arguments["none"] == ["none", "none"]
        assert done.pillar == {"app": {"y": 1, "l": [1]}}
        assert "#!pillar" in done.volatile


def test_a_template_that_only_looks_leaves_nothing() -> None:
    looks = "{% set all = pillar | tojson %}{% for k, v in pillar.app.items() %}{% endfor %}{% set l = pillar.app.l %}"
    states = {"top.sls": "base: {'*': [one]}", "one.sls": looks + "a: {test.nop: [{x: {{ pillar.app.l[0] }}}]}"}
    pillar = {"top.sls": "base: {'*': [p]}", "p.sls": "app: {y: 1, l: [1], n: .nan}"}
    trees = [MemoryFiles({"base": {path: text.encode() for path, text in each.items()}}) for each in (states, pillar)]
    assert not compile_minion(*trees, Minion(id="m"), CompileOptions(), Memo()).volatile
