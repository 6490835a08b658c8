"""The mine against a real store: shapes as Salt's, who may have what, what is refused, and who is told of a change."""

import pytest

from controller.compilation.mine import MOST_FUNCTIONS, MOST_KEPT, MineRefused, MineStore
from controller.sessions.sessions import KeyRegistry
from controller.store import Store
from highstate.ports import question
from highstate.types import Minion
from wire.messages import FactAnswer, FactQuery, MineEntry

GRAINS = {"web1": {"role": "web"}, "web2": {"role": "web"}, "db1": {"role": "db"}}
PILLAR = {"web1": {"tier": "gold"}, "web2": {"tier": "tin"}}


@pytest.fixture
def store(tmp_path):
    with Store(f"sqlite:///{tmp_path / 'store.sqlite'}") as store:
        for at, (minion, grains) in enumerate(GRAINS.items()):
            store.minions.seen(minion, 1.0, grains=grains)
            key = f"{at}" * 40
            store.keys.request(key, minion, 1.0)
            store.keys.set_state(minion, "accepted", 1.0)
        yield store


def accepted_ids(store):
    return KeyRegistry(store.keys.all()).accepted


@pytest.fixture
def mines(store):
    mines = MineStore(
        store=store,
        pillar_of=lambda minion: PILLAR.get(minion, {}),
        nodegroups={"webs": "web*"},
        accepted=lambda: accepted_ids(store),
    )
    for minion in GRAINS:
        mines.put(minion, {"addr": MineEntry(value=[minion]), "os": MineEntry(value={"n": 1})})
    return mines


def asked(*args, **kwargs):
    return FactQuery(fun="mine.get", asked=question(args, kwargs))


def get(mines, *args, asker="db1", **kwargs):
    answer = mines.answer(asked(*args, **kwargs), Minion(id=asker, grains=GRAINS.get(asker, {}))).answer
    assert not answer.error, answer.error
    return answer.value


def test_the_shapes_are_salts(mines):
    assert get(mines, "web1", "addr") == {"web1": ["web1"]}
    assert get(mines, "web1", ["addr"]) == {"addr": {"web1": ["web1"]}}
    assert get(mines, "web1", "addr,os") == {"addr": {"web1": ["web1"]}, "os": {"web1": {"n": 1}}}
    assert get(mines, "*", "none") == {}
    assert sorted(get(mines, "*", "addr", exclude_minion=True)) == ["web1", "web2"]


@pytest.mark.parametrize(
    ("target", "kind", "found"),
    [
        ("web*", "glob", ["web1", "web2"]),
        ("web1,db1", "list", ["db1", "web1"]),
        (["web1"], "list", ["web1"]),
        ("web[12]", "pcre", ["web1", "web2"]),
        ("role:web", "grain", ["web1", "web2"]),
        ("tier:gold", "pillar", ["web1"]),
        ("tier:g*", "pillar", []),
        ("tier:g.*", "pillar_pcre", []),
        ("I@tier:g* or J@tier:t.*", "compound", []),
        ("I@tier:gold or db1", "compound", ["db1", "web1"]),
        ("webs", "nodegroup", ["web1", "web2"]),
        ("(", "pcre", []),
    ],
)
def test_targets_and_pillar_is_never_a_pattern(mines, target, kind, found):
    assert sorted(get(mines, target, "addr", kind)) == found


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("tier:gold", "pillar"),
        ("tier:gold", "pillar_exact"),
        ("tier:g.*", "pillar_pcre"),
        ("I@tier:gold", "compound"),
        ("web* or (J@tier:gold)", "compound"),
        ("not I|@tier|gold", "compound"),
    ],
)
def test_a_minion_cannot_guess_the_pillar_of_others(mines, target, kind):
    said = mines.answer_minion(asked(target, "addr", kind), Minion(id="db1"), 1_000_000).answer
    assert "cannot target by pillar" in said.error
    assert said.value is None


def test_what_a_minion_asks_takes_so_many_steps(mines):
    web = Minion(id="web1")
    assert mines.answer_minion(asked("web.*", "addr", "pcre"), web, 1_000_000).answer.value
    assert "steps" in mines.answer_minion(asked("w.*1", "addr", "pcre"), web, 3).answer.error


def test_answers_that_are_kept_take_a_bounded_memory(mines):
    large = {f"f{at}": MineEntry(value="x" * 60_000) for at in range(10)}
    mines.put("web1", large)
    for number in range(200):
        mines.answer(asked(f"web1 or {number}", ",".join(large), "compound"), None)
    assert 0 < mines._kept.currsize <= MOST_KEPT
    assert mines.answer(asked("web1", "f1"), None) is mines.answer(asked("web1", "f1"), None)
    mines.changed()
    mines.answer(asked("web1", "f2"), None)
    assert len(mines._kept) == 1


def test_who_may_have_it_is_said_by_whose_it_is(mines):
    mines.put("web1", {"addr": MineEntry(value=1, allow="role:web", allow_type="grain")})
    assert sorted(get(mines, "*", "addr", asker="web2")) == ["db1", "web1", "web2"]
    assert sorted(get(mines, "*", "addr", asker="db1")) == ["db1", "web2"]
    assert "web1" not in mines.answer(asked("*", "addr"), None).answer.value


def test_a_key_that_is_not_accepted_any_more_counts_for_nothing(mines, store):
    keyring = KeyRegistry()
    mines.keys_version = lambda: keyring.version
    assert "web1" in get(mines, "*", "addr")
    store.keys.set_state("web1", "rejected", 2.0)
    keyring.replace(store.keys.all())
    assert "web1" not in get(mines, "*", "addr")


@pytest.mark.parametrize(
    "entries",
    [
        {f"f{at}": MineEntry() for at in range(MOST_FUNCTIONS + 1)},
        {"big": MineEntry(value="x" * 70_000)},
        {f"f{at}": MineEntry(value="x" * 60_000) for at in range(20)},
        {"": MineEntry()},
        {"x" * 300: MineEntry()},
        {"f": MineEntry(allow="*", allow_type="nope")},
    ],
)
def test_what_is_too_much_leaves_what_was_there(mines, entries):
    with pytest.raises(MineRefused):
        mines.put("web1", entries)
    assert get(mines, "web1", "addr") == {"web1": ["web1"]}


@pytest.mark.parametrize("arguments", [(), ("*",), ("*", "f", "nope"), ("*", "f", "glob", True, 5)])
def test_arguments_that_cannot_be_are_an_error(mines, arguments):
    assert "mine.get" in mines.answer(asked(*arguments), None).answer.error


def test_only_those_are_told_for_whom_an_answer_changed(mines, store):
    for minion, target in (("db1", "web*"), ("web1", "db*")):
        said = mines.answer(asked(target, "addr"), Minion(id=minion))
        mines.record_marks(minion, {asked(target, "addr"): said.mark}, 1.0)
    assert mines.changed_minions() == []
    mines.put("web2", {"addr": MineEntry(value="new")})
    assert mines.changed_minions() == ["db1"]
    mines.put("web2", {"addr": MineEntry(value="new"), "more": MineEntry()})
    assert mines.changed_minions() == ["db1"], "until it is compiled"
    said = mines.answer(asked("web*", "addr"), Minion(id="db1"))
    mines.record_marks("db1", {asked("web*", "addr"): said.mark}, 1.0)
    assert mines.changed_minions() == []
    assert store.facts.by_minion(["db1"])["db1"][0].answer == FactAnswer(value=said.mark)
    store.minions.seen("web3", 1.0, grains={"role": "web"})
    mines.changed()
    assert mines.changed_minions() == []


def test_a_forgotten_minion_takes_its_mine_with_it(mines, store):
    store.minions.delete("web1")
    assert store.mines.by_function(["addr"])["addr"].keys() == {"web2", "db1"}
    assert store.mines.put("web1", {"addr": MineEntry()}) == set()


SLOW = ".?" * 300 + "Z"


def test_a_target_that_is_not_run_is_an_error_and_counted(store):
    refused = []
    mines = MineStore(
        store=store, pillar_of=lambda minion: {}, on_refusal=refused.append, accepted=lambda: accepted_ids(store)
    )
    mines.put("web1", {"addr": MineEntry(value=1)})
    for target, kind, says in [
        ("(?!web).*", "pcre", "looks ahead or behind"),
        ("x" * 1001, "pcre", "longer than 1000 characters"),
        ("( " * 60, "compound", "more than 50 parentheses"),
    ]:
        answer = mines.answer(asked(target, "addr", tgt_type=kind), Minion(id="db1")).answer
        assert says in answer.error
    assert refused == ["linear-time", "pattern-characters", "expression-depth"]


def test_a_pattern_that_a_search_by_trial_never_ends_with(mines):
    assert get(mines, SLOW, "addr", tgt_type="pcre") == {}
    mines.put("web1", {"addr": MineEntry(value=1, allow=SLOW, allow_type="pcre")})
    assert get(mines, "web1", "addr") == {}


def test_who_may_have_a_value_is_said_within_the_limits(mines):
    with pytest.raises(MineRefused, match=r"allow_tgt: the pattern .* looks ahead"):
        mines.put("web1", {"addr": MineEntry(value=1, allow="(?!web).*", allow_type="pcre")})
    mines.put("web1", {"addr": MineEntry(value=1, allow=("a", "b"), allow_type="compound")})
    assert get(mines, "web1", "addr") == {}
