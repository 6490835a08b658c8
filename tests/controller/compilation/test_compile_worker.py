"""What the compile process answers: a sample is compiled without the memo too, and a memo that is wrong is given up."""

from __future__ import annotations

from dataclasses import replace

from controller.compilation.compile_messages import CompileRequest
from controller.compilation.compile_rpc import Capabilities, PortAnswer
from controller.compilation.compile_worker import OwnMemory, WorkerState, answer
from controller.compilation.recorded_facts import FleetAnswer
from highstate.compile.blank_compile import BlankPlan
from highstate.files import MemoryFiles
from highstate.memo import blank_plans
from highstate.types import Minion
from wire.messages import FactAnswer, FactQuery

TREE = MemoryFiles(
    {
        "base": {
            "top.sls": b"base:\n  '*': [web]\n",
            "web.sls": b"site: {test.nop: [{own: {{ grains.own }}}]}\n",
        }
    }
)
MINIONS = tuple(Minion(id=f"web{number}", grains={"own": number}) for number in range(5))


def request(**fields) -> CompileRequest:
    return CompileRequest(**{"files": TREE, "pillar": MemoryFiles({}), "minions": MINIONS, **fields})


def spoil(state: WorkerState) -> None:
    """Make the memo remember what was never compiled."""
    for node in state.memo._leaves.values():
        if hasattr(node.result, "lowstate"):
            node.result = replace(node.result, lowstate=())


def test_one_of_a_request_at_most_is_checked():
    found = list(answer(request(check_rate=1.0), WorkerState()))
    assert [each.checked for each in found] == [True, False, False, False, False]
    assert not any(each.remembered for each in found)
    assert not any(each.checked for each in answer(request(), WorkerState()))


def test_what_is_wrong_in_the_memo_is_found_and_given_up():
    state = WorkerState()
    right = list(answer(request(), state))
    spoil(state)
    wrong = list(answer(request(), state))
    assert wrong[0].digest != right[0].digest, "the memo lies now"
    found = list(answer(request(check_rate=1.0), state))
    assert [each.digest for each in found] == [each.digest for each in right]
    assert found[0].remembered == wrong[0].digest
    assert found[0].document == right[0].document
    assert not any(each.remembered for each in found[1:])


def test_what_is_filled_in_wrongly_is_found_and_given_up():
    header = b"site: {file.managed: [{name: /etc/motd}, {contents: 'kept for {{ grains.id }}'}]}\n"
    names = [f"s{number}" for number in range(int(blank_plans.FEWEST) + 1)]
    sls = {f"{name}.sls": header.replace(b"site", name.encode()) for name in names}
    tree = MemoryFiles({"base": {"top.sls": f"base: {{'*': [{', '.join(names)}]}}".encode(), **sls}})
    minions = tuple(Minion(id=f"web{number}", grains={"id": f"web{number}"}) for number in range(40))
    state = WorkerState()
    list(answer(request(files=tree, minions=minions[:-1]), state))
    plans = [node for node in state.memo._leaves.values() if isinstance(node.result, BlankPlan)]
    assert plans
    for node in plans:
        wrong = replace(node.result.compiled, lowstate=node.result.compiled.lowstate[:-1])
        kept = tuple(one for one in node.result.chunks if one.index < len(wrong.lowstate))
        watched = tuple(one for one in node.result.watched if one < len(wrong.lowstate))
        node.result = replace(node.result, compiled=wrong, chunks=kept, watched=watched)
    [found] = answer(request(files=tree, minions=minions[-1:], check_rate=1.0), state)
    [right] = answer(request(files=tree, minions=minions[-1:]), WorkerState())
    assert (found.checked, found.digest, found.document) == (True, right.digest, right.document)
    assert found.remembered not in ("", right.digest)
    [again] = answer(request(files=tree, minions=minions[-1:]), state)
    assert again.digest == right.digest


def test_a_mine_that_changes_in_between_is_no_fault_of_the_memo():
    tree = MemoryFiles(
        {"base": {"top.sls": b"base: {'*': [w]}", "w.sls": b"w{{ salt['mine.get']('*', 'n') }}: {test.nop: []}"}}
    )
    asked = []

    def rpc(call):
        asked.append(call.text)
        said = FactAnswer(value=len(asked))
        return PortAnswer(value=FleetAnswer(answer=said, mark=f"{len(asked)}", followed=True))

    with_fleet = request(files=tree, minions=MINIONS[:1], capabilities=Capabilities(fleet=True), check_rate=1.0)
    [found] = answer(with_fleet, WorkerState(), rpc)
    assert len(asked) == 2
    assert (found.reads != (), found.checked, found.remembered) == (True, False, "")
    assert [*dict(found.fleet_marks).values()] == ["2"]


def test_who_stands_on_more_than_trees_is_not_checked():
    tree = MemoryFiles(
        {"base": {"top.sls": b"base: {'*': [w]}", "w.sls": b"w{{ salt['cmd.which']('sh') }}: {test.nop: []}"}}
    )
    asked = FactQuery(fun="cmd.which", asked='[["sh"], {}]')
    facts = {minion.id: {asked: FactAnswer(value="/bin/sh")} for minion in MINIONS[:1]}
    found = list(answer(request(files=tree, facts=facts, check_rate=1.0), WorkerState()))
    assert [each.ok for each in found] == [True, False, False, False, False]
    assert found[0].facts == found[1].unanswered == (asked,)
    assert not any(each.checked for each in found)


def test_a_worker_that_forgets_after_each_minion_gives_the_same():
    state = WorkerState()
    right = list(answer(request(), WorkerState()))
    found = []
    for each in answer(request(), state):
        found.append(each)
        state.forget_oldest()
    assert [each.digest for each in found] == [each.digest for each in right]
    assert [each.document for each in found] == [each.document for each in right]


def test_forgetting_keeps_what_was_used_last():
    state = WorkerState()
    list(answer(request(), state))
    known = len(state.memo)
    state.forget_oldest()
    assert 0 < len(state.memo) < known
    while len(state.memo):
        state.forget_oldest()
    assert not state.packer._classes


def test_a_worker_forgets_again_when_it_has_grown_only():
    memory = OwnMemory()
    used = memory.data_bytes()
    assert memory.has_grown(used), "more than half is used"
    assert not memory.has_grown(used * 4)
    memory.note()
    assert not memory.has_grown(used)
    kept = bytearray(used // 2)
    assert memory.has_grown(used)
    del kept
    memory.note()
    blocks = [object() for _ in range(used // 256)]
    assert memory.has_grown(used)
    del blocks
