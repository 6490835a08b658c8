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
