"""Whom a push concerns: nobody too few, and of the others as few as can be."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.compilation.builder import shaping_of
from controller.compilation.compile_messages import CompiledMinion, CompileRequest
from controller.compilation.compile_pool import CompilePool
from controller.compilation.compile_worker import WorkerState, answer
from controller.compilation.dependencies.index import DependencyIndex
from highstate.compile import CompileOptions, compile_minion
from highstate.desired import desired_of
from highstate.files import MemoryFiles
from highstate.tops.heard_tops import heard_tops
from highstate.types import Minion

STATES = {
    "top.sls": "base:\n  'web*':\n    - web\n  'db*':\n    - db\n",
    "web.sls": "include:\n  - lib\n{id}:\n  test.nop:\n    - own: {{ pillar.own }}\n".replace("{id}", "site"),
    "lib.sls": "lib:\n  test.nop: []\n/etc/motd:\n  file.managed:\n    - source: salt://motd\n",
    "db.sls": "db:\n  test.nop: []\n",
    "motd": "hello",
}
PILLAR = {
    "top.sls": "base:\n  '*':\n    - hosts.{{ grains.id }}\n",
    **{f"hosts/{name}.sls": f"own: {name}\n" for name in ("web1", "web2", "web3", "web4", "db1")},
}
MINIONS = {name: Minion(id=name, grains={"id": name}) for name in ("web1", "web2", "web3", "web4", "db1")}
WEBS = {"web1", "web2", "web3", "web4"}


def files(tree: dict[str, str], **changed: str) -> MemoryFiles:
    return MemoryFiles({"base": {path: text.encode() for path, text in {**tree, **changed}.items()}})


def answers(state: WorkerState, states: MemoryFiles, pillar: MemoryFiles) -> list[CompiledMinion]:
    return list(answer(CompileRequest(files=states, pillar=pillar, minions=tuple(MINIONS.values())), state))


@pytest.fixture
def dependency_index() -> DependencyIndex:
    made = DependencyIndex()
    made.note(answers(WorkerState(), files(STATES), files(PILLAR)), "")
    return made


@pytest.mark.parametrize(
    ("states", "pillar", "concerned"),
    [
        ({}, {}, set()),
        ({"unused.sls": "x: test.nop"}, {}, set()),
        ({"db.sls": "db:\n  test.nop:\n    - a: 1\n"}, {}, {"db1"}),
        ({"lib.sls": "lib:\n  test.nop: []\n"}, {}, WEBS),
        ({"motd": "good bye"}, {}, WEBS),
        ({"web/init.sls": "ignored: test.nop"}, {}, set()),
        ({"top.sls": "base:\n  '*':\n    - db\n"}, {}, set(MINIONS)),
        ({}, {"hosts/web2.sls": "own: other\n"}, {"web2"}),
    ],
)
def test_whom_a_push_concerns(dependency_index, states, pillar, concerned):
    trees = files(STATES, **states), files(PILLAR, **pillar)
    found = dependency_index.affected(*trees, MINIONS, "")
    assert found == concerned
    for name, minion in MINIONS.items():
        if name not in found:
            before = compile_minion(files(STATES), files(PILLAR), minion, CompileOptions())
            assert desired_of(compile_minion(*trees, minion, CompileOptions())) == desired_of(before)


def test_who_is_not_known_or_was_made_otherwise_is_concerned(dependency_index):
    trees = files(STATES), files(PILLAR)
    assert dependency_index.affected(*trees, [*MINIONS, "new"], "") == {"new"}
    assert dependency_index.affected(*trees, MINIONS, "other settings") == set(MINIONS)


def test_what_is_compiled_anew_stands_on_the_new_trees(dependency_index):
    state, trees = WorkerState(), (files(STATES, motd="good bye"), files(PILLAR))
    dependency_index.note(answers(state, *trees), "")
    assert dependency_index.affected(*trees, MINIONS, "") == set()
    assert dependency_index.affected(files(STATES), files(PILLAR), MINIONS, "") == WEBS
    dependency_index.forget()
    assert dependency_index.affected(*trees, MINIONS, "") == set(MINIONS)


def test_a_document_packed_by_class_is_the_document_packed_at_once():
    drift = {"interval": 5.0, "splay": 1.0}
    request = CompileRequest(files=files(STATES), pillar=files(PILLAR), minions=tuple(MINIONS.values()), drift=drift)
    state = WorkerState()
    for each in [*answer(request, state), *answer(request, state)]:
        fresh = compile_minion(request.files, request.pillar, MINIONS[each.minion_id], CompileOptions())
        assert each.document == msgspec.msgpack.encode(desired_of(fresh, drift=drift).as_document())


async def test_workers_stream_answers_and_hold_back_what_is_held():
    compiler = CompilePool(workers=2)
    try:
        request = CompileRequest(files=files(STATES), pillar=files(PILLAR), minions=tuple(MINIONS.values()))
        found = {each.minion_id: each async for batch in compiler.stream(request) for each in batch}
        assert found.keys() == MINIONS.keys()
        assert [each.minion_id for each in await compiler.compile(request)] == list(MINIONS)
        held = {name: each.digest for name, each in found.items() if name != "db1"}
        request = CompileRequest(files=request.files, pillar=request.pillar, minions=request.minions, held=held)
        again = await compiler.compile(request)
        assert [each.minion_id for each in again if each.document] == ["db1"]
        assert {each.minion_id: each.digest for each in again} == {name: each.digest for name, each in found.items()}
    finally:
        compiler.close()


async def test_who_stops_listening_stops_nobody():
    compiler = CompilePool(workers=1)
    minions = tuple(Minion(id=f"web{number}", grains={"id": f"web{number}"}) for number in range(400))
    pillar = files(PILLAR, **{f"hosts/{each.id}.sls": "own: 1\n" for each in minions})
    request = CompileRequest(files=files(STATES), pillar=pillar, minions=minions)
    try:
        stream = compiler.stream(request)
        await anext(stream)
        await stream.aclose()
        assert len(await compiler.compile(request)) == len(minions)
    finally:
        compiler.close()


@dataclass(frozen=True)
class PillarOfParts(MemoryFiles):
    """A pillar of several remotes: `others` are compiled each by itself, after the local folder that this is."""

    others: tuple[MemoryFiles, ...] = ()

    def parts(self, *, folders_last: bool = False) -> list[MemoryFiles]:
        """As `Snapshot.parts`."""
        return [*self.others, self] if folders_last else [self, *self.others]

    def __getstate__(self) -> dict[str, object]:
        return {**super().__getstate__(), "others": self.others}


def pillar_of_parts(own: dict[str, str], *others: dict[str, str]) -> PillarOfParts:
    return PillarOfParts(files(own).trees, others=tuple(files(each) for each in others))


OWN = {"top.sls": "base: {'*': [common]}\n", "common.sls": "own: 0\n"}
"""Of the local folder. It has paths in common with the remotes, where something else stands."""
SECOND = {"top.sls": "base: {'web1': [common], 'db1': [db]}\n", "common.sls": "more: 1\n", "db.sls": "db: 1\n"}


@pytest.mark.parametrize("folders_last", [False, True])
@pytest.mark.parametrize(
    ("changed", "concerned"),
    [
        (({}, {}, {}), set()),
        (({}, {"hosts/web2.sls": "own: other\n"}, {}), {"web2"}),
        (({}, {}, {"common.sls": "more: 2\n"}), {"web1"}),
        (({}, {}, {"db.sls": "db: 2\n"}), {"db1"}),
        (({}, {}, {"unused.sls": "x: 2\n"}), set()),
        (({"common.sls": "own: 2\n"}, {}, {}), set(MINIONS)),
        (({}, {}, {"top.sls": "base: {'web1': [common]}\n"}), set(MINIONS)),
    ],
)
def test_a_push_to_one_of_several_pillars_concerns_who_reads_that_file_of_it(folders_last, changed, concerned):
    language = CompileOptions(ext_pillar_first=folders_last)
    minions = tuple(MINIONS.values())

    def request(*edits: dict[str, str]) -> CompileRequest:
        pillars = [{**each, **edit} for each, edit in zip((OWN, PILLAR, SECOND), edits, strict=True)]
        return CompileRequest(files=files(STATES), pillar=pillar_of_parts(*pillars), minions=minions, language=language)

    before, after = request({}, {}, {}), request(*changed)
    dependency_index, state = DependencyIndex(), WorkerState()
    dependency_index.note(answer(before, state), shaping_of(before))
    found = dependency_index.affected(after.files, after.pillar, MINIONS, shaping_of(after))
    assert found == concerned
    was, now = ({each.minion_id: each.digest for each in answer(each, state)} for each in (before, after))
    assert {name for name in MINIONS if was[name] != now[name]} <= found
    assert now == {each.minion_id: each.digest for each in answer(after, WorkerState())}


def test_one_pillar_more_concerns_everybody():
    minions = tuple(MINIONS.values())
    before = CompileRequest(files=files(STATES), pillar=pillar_of_parts(OWN, PILLAR), minions=minions)
    after = CompileRequest(files=files(STATES), pillar=pillar_of_parts(OWN, PILLAR, SECOND), minions=minions)
    dependency_index = DependencyIndex()
    dependency_index.note(answer(before, WorkerState()), shaping_of(before))
    assert dependency_index.affected(after.files, after.pillar, MINIONS, shaping_of(after)) == set(MINIONS)


POOL = {
    "top.sls": ["base:\n  '*':\n    - a\n  'web*':\n    - b.*\n", "base:\n  '*':\n    - a\n    - c\n", None],
    "a.sls": [
        "{% from 'lib/m.jinja' import one %}\na{{ one }}: {test.nop: []}\n",
        "include: [.c]\na: {test.nop: []}\n",
        "a: {test.nop: [{own: {{ pillar.get('own', 0) }}}]}\n",
        "{% import_yaml 'data.yaml' as data %}\na: {test.nop: [{own: {{ data }}}]}\n",
        "{% import 'm.jinja' as m ignore missing %}\na: {test.nop: []}\n",
        "{% include ['first.txt', 'second.txt'] %}\n",
        "#!py\ndef run():\n    return {'a': {'test.nop': [{'own': __pillar__.get('own')}]}}\n",
        "{% for path in salt['cp.list_master'](prefix='b') %}\n{{ path }}: {test.nop: []}\n{% endfor %}\n",
    ],
    "c.sls": ["c: {file.managed: [{name: /c}, {source: 'salt://data.yaml'}]}\n", "c: [", None],
    "c/init.sls": ["c2: {test.nop: []}\n", None],
    "b/one.sls": ["b1: {test.nop: []}\n", None],
    "b/two.sls": ["b2: {file.managed: [{source: ['salt://first.txt', 'salt://second.txt']}]}\n", None],
    "lib/m.jinja": ["{% set one = 1 %}", "{% include 'second.txt' %}{% set one = 2 %}", None],
    "m.jinja": ["{% set x = 1 %}", None],
    "data.yaml": ["{x: 1}", "{x: 2}", None],
    "first.txt": ["first: {test.nop: []}\n", None],
    "second.txt": ["second: {test.nop: []}\n", "", None],
}
PILLAR_POOL = {
    "top.sls": ["base:\n  '*':\n    - common\n    - {{ grains.id }}\n", "base:\n  'web*': [common]\n", None],
    "common.sls": ["own: 0\n", "include: [more]\nown: 1\n", None],
    "more.sls": ["more: 1\n", "own: 7\n", None],
    **{name: [f"own: {name}\n", f"own: {name}x\n", None] for name in ("web1.sls", "db1.sls")},
}
EDITS = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(sorted(POOL)), st.integers(0, 9), max_size=3),
        st.dictionaries(st.sampled_from(sorted(PILLAR_POOL)), st.integers(0, 9), max_size=2),
    ),
    min_size=1,
    max_size=4,
)


def edited(pool: dict[str, list[str | None]], chosen: dict[str, int]) -> MemoryFiles:
    texts = {path: texts[chosen.get(path, 0) % len(texts)] for path, texts in pool.items()}
    return MemoryFiles({"base": {path: text.encode() for path, text in texts.items() if text is not None}})


@given(edits=EDITS)
@settings(deadline=None, max_examples=examples(150))
def test_after_random_edits_documents_are_those_of_a_full_compile(edits):
    dependency_index, state, documents = DependencyIndex(), WorkerState(), {}
    states, pillars = {}, {}
    for state_edit, pillar_edit in [({}, {}), *edits]:
        states, pillars = {**states, **state_edit}, {**pillars, **pillar_edit}
        trees = {"files": edited(POOL, states), "pillar": edited(PILLAR_POOL, pillars)}
        concerned = dependency_index.affected(trees["files"], trees["pillar"], MINIONS, "")
        asked = tuple(minion for name, minion in MINIONS.items() if name in concerned)
        found = list(answer(CompileRequest(**trees, minions=asked), state))
        dependency_index.note(found, "")
        documents |= {each.minion_id: (each.digest, each.errors) for each in found}
        fresh = answer(CompileRequest(**trees, minions=tuple(MINIONS.values())), WorkerState())
        assert documents == {each.minion_id: (each.digest, each.errors) for each in fresh}


@given(
    edits=st.lists(st.tuples(*[st.dictionaries(st.sampled_from(sorted(PILLAR_POOL)), st.integers(0, 9))] * 3)),
    folders_last=st.booleans(),
)
@settings(deadline=None, max_examples=examples(100))
def test_after_random_edits_of_three_pillars_documents_are_those_of_a_full_compile(edits, folders_last):
    dependency_index, state, documents = DependencyIndex(), WorkerState(), {}
    chosen: list[dict[str, int]] = [{}, {}, {}]
    language = CompileOptions(ext_pillar_first=folders_last)
    for edit in [({}, {}, {}), *edits]:
        chosen = [{**each, **more} for each, more in zip(chosen, edit, strict=True)]
        own, *others = (edited(PILLAR_POOL, each) for each in chosen)
        pillar = PillarOfParts(own.trees, others=tuple(others))
        trees = {"files": files(STATES), "pillar": pillar, "language": language}
        concerned = dependency_index.affected(trees["files"], pillar, MINIONS, "")
        asked = tuple(minion for name, minion in MINIONS.items() if name in concerned)
        found = list(answer(CompileRequest(**trees, minions=asked), state))
        dependency_index.note(found, "")
        documents |= {each.minion_id: (each.digest, each.errors) for each in found}
        fresh = answer(CompileRequest(**trees, minions=tuple(MINIONS.values())), WorkerState())
        assert documents == {each.minion_id: (each.digest, each.errors) for each in fresh}


def test_who_stands_on_an_external_pillar_is_concerned_by_every_push(tmp_path):
    (tmp_path / "hosts" / "web1").mkdir(parents=True)
    (tmp_path / "hosts" / "web1" / "own").write_text("1")
    language = CompileOptions(ext_pillar=({"file_tree": {"root_dir": str(tmp_path)}},))
    trees = {"files": files(STATES), "pillar": files(PILLAR)}
    dependency_index = DependencyIndex()
    dependency_index.note(
        answer(CompileRequest(**trees, minions=tuple(MINIONS.values()), language=language), WorkerState()), ""
    )
    assert dependency_index.affected(trees["files"], trees["pillar"], MINIONS, "") == set(MINIONS)


ENV_POOL = {
    "top.sls": [
        "base:\n  '*':\n    - common\n",
        "base:\n  '*':\n    - common\n    - dev: own\ndev:\n  'web*': [web]\n",
        "base:\n  '{{ grains.id }}': [common]\n{{ grains.id }}:\n  'web1': [web]\n",
        "base:\n  '*': [common]\n{{ saltenv }}:\n  'web*': [web]\n",
        "base:\n  '*': [common]\nqa:\n  'web*': [web]\n",
        "include: [more]\nbase:\n  '*': [common]\n",
        "base: [wrong]\n",
        None,
    ],
    "more.sls": ["dev:\n  'db1': [web]\n", None],
    "common.sls": ["c:\n  test.nop: []\n  no_such.state: []\n", "c:\n  test.nop:\n    - a: 1\n"],
    "web.sls": ["w:\n  test.nop: []\n", "include: [own]\n", None],
    "own.sls": ["o:\n  test.nop: []\n", None],
    "_states/no_such.py": [None, "def state(name):\n    pass\n"],
}
ENVS = ("base", "dev", "qa", "web1")
ONE_ENV = st.dictionaries(st.sampled_from(sorted(ENV_POOL)), st.integers(0, 9), max_size=3)
ENV_EDITS = st.lists(
    st.tuples(st.sampled_from(ENVS), st.one_of(st.none(), st.just({}), ONE_ENV)), min_size=1, max_size=6
)


def of_saltenvs(chosen: dict[str, dict[str, int]]) -> MemoryFiles:
    trees = {}
    for env, numbers in chosen.items():
        texts = {path: texts[numbers.get(path, 0) % len(texts)] for path, texts in ENV_POOL.items()}
        trees[env] = {path: text.encode() for path, text in texts.items() if text is not None}
    return MemoryFiles(trees)


LANGUAGES = (
    {},
    {"state_top_saltenv": "base"},
    {"state_top_saltenv": "dev"},
    {"saltenv": "dev"},
    {"top_file_merging_strategy": "merge_all"},
    {"top_file_merging_strategy": "same"},
)


@given(edits=ENV_EDITS, options=st.sampled_from(LANGUAGES))
@settings(deadline=None, max_examples=examples(200))
def test_saltenvs_that_come_and_go_leave_the_documents_of_a_full_compile(edits, options):
    dependency_index, state, documents = DependencyIndex(), WorkerState(), {}
    language, chosen = CompileOptions(**options), {"base": {}}
    for env, numbers in [("base", {}), *edits]:
        if numbers is not None:
            chosen[env] = {**chosen.get(env, {}), **numbers}
        elif env != "base":
            chosen.pop(env, None)
        trees = {"files": of_saltenvs(chosen), "pillar": MemoryFiles({"base": {}}), "language": language}
        request = CompileRequest(**trees, minions=tuple(MINIONS.values()))
        shaping, heard = shaping_of(request), heard_tops(trees["files"], language)
        concerned = dependency_index.affected(trees["files"], trees["pillar"], MINIONS, shaping, heard)
        asked = tuple(minion for name, minion in MINIONS.items() if name in concerned)
        found = list(answer(CompileRequest(**trees, minions=asked), state))
        dependency_index.note(found, shaping)
        documents |= {each.minion_id: (each.digest, each.errors, each.warnings) for each in found}
        fresh = answer(request, WorkerState())
        assert documents == {each.minion_id: (each.digest, each.errors, each.warnings) for each in fresh}


@pytest.mark.parametrize(
    ("base", "branch", "language", "counts"),
    [
        ("base: {'*': [web]}", "base: {'*': [web]}", {}, False),
        ("base: {'{{ grains.id }}': [web]}", "base: {'{{ grains.id }}': [web]}", {}, False),
        ("base: {'*': [web]}", None, {}, False),
        ("base: {'*': [web]}", "base: {'*': [db]}", {}, True),
        ("base: {'*': [web]}\n{{ saltenv }}: {}", "base: {'*': [web]}\n{{ saltenv }}: {}", {}, True),
        ("include: [more]\nbase: {}", "include: [more]\nbase: {}", {}, True),
        ("base: {'*': [web]}", "base: {'*': [web]}", {"top_file_merging_strategy": "same"}, True),
        ("base: {'*': [web]}", "base: {'*': [web]}", {"env_order": ("base", "branch")}, True),
        (None, None, {}, True),
        ("base: {'*': [web]}", "base: {'*': [db]}", {"state_top_saltenv": "base"}, False),
        ("base: {'*': [web]}", "base: {'*': [web]}", {"state_top_saltenv": "branch"}, True),
        ("base: {'*': [web]}", "base: {'*': [web]}", {"saltenv": "branch"}, True),
    ],
)
def test_whose_top_file_counts(base, branch, language, counts):
    trees = {"base": base, "branch": branch}
    files = MemoryFiles({env: {"top.sls": top.encode()} if top else {} for env, top in trees.items()})
    heard = heard_tops(files, CompileOptions(**language))
    assert heard.saltenvs == (("base", "branch") if counts else ("base",))
    assert heard.skips("files", "file", "branch", "top.sls") is not counts
    assert not heard.skips("files", "file", "branch", "web.sls")
    assert not heard.skips("pillar", "file", "branch", "top.sls")


def test_a_minion_whose_parts_are_alike_is_compiled_again_and_forgotten(dependency_index):
    [web1] = [each for each in answers(WorkerState(), files(STATES), files(PILLAR)) if each.minion_id == "web1"]
    twice = msgspec.structs.replace(web1, reads=(*web1.reads, *web1.reads))
    for _ in range(2):
        dependency_index.note([twice], "")
    assert dependency_index.affected(files(STATES, motd="good bye"), files(PILLAR), MINIONS, "") == WEBS
    dependency_index.keep(set(MINIONS) - {"web1"})
    assert dependency_index.affected(files(STATES), files(PILLAR), MINIONS, "") == {"web1"}
