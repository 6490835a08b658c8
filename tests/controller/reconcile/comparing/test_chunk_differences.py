"""Low chunks of both sides, and what of them is said to differ."""

import random

import pytest

from controller.reconcile.comparing.chunk_differences import differences


def chunk(of, **more):
    return {"state": "file", "fun": "managed", "__id__": of, "name": of, "__sls__": "web", "__env__": "base", **more}


def found(salts, ours):
    return [(each.kind, each.chunk, dict(each.arguments)) for each in differences(salts, ours)]


def test_the_same_is_no_difference():
    salts = [chunk("a", order=10000, mode="0644", __noted__=1), chunk("b", order=10001, context={"x": 1, "y": 2})]
    ours = [chunk("a", order=1, mode="0644"), chunk("b", order=2, context={"y": 2, "x": 1})]
    assert found(salts, ours) == []


def test_arguments_that_differ_and_those_that_one_side_lacks():
    salts = [chunk("a", mode="0644", backup="minion", flag=True)]
    ours = [chunk("a", mode=644, flag=1, makedirs=True)]
    assert found(salts, ours) == [
        ("arguments", "a: file.managed", {
            "backup": ('"minion"', "(not given)"), "flag": ("true", "1"), "makedirs": ("(not given)", "true"),
            "mode": ('"0644"', "644"),
        })
    ]  # fmt: skip


def test_a_name_may_be_what_differs():
    assert found([chunk("a", name="/etc/x")], [chunk("a", name="/etc/y")]) == [
        ("arguments", "a: file.managed", {"name": ('"/etc/x"', '"/etc/y"')})
    ]


def test_several_names_of_one_id_find_their_partners():
    salts = [chunk("a", name=name, mode="1") for name in ("/x", "/y", "/z")]
    ours = [chunk("a", name=name, mode="1" if name != "/y" else "2") for name in ("/x", "/y", "/z")]
    assert found(salts, ours) == [("arguments", "a: file.managed", {"mode": ('"1"', '"2"')})]


def test_chunks_of_one_side_alone():
    assert found([chunk("a"), chunk("b")], [chunk("b"), chunk("c")]) == [
        ("only Salt", "a: file.managed", {}),
        ("only Saltern", "c: file.managed", {}),
    ]


def test_another_order_is_told_once():
    salts = [chunk("a"), chunk("b"), chunk("c"), chunk("d")]
    ours = [chunk("a"), chunk("c"), chunk("b"), chunk("d")]
    assert found(salts, ours) == [("order", "c: file.managed", {"comes first": ("b: file.managed", "c: file.managed")})]


def test_the_order_of_a_salt_that_orders_at_run_time_is_not_compared():
    salts, ours = [chunk("a"), chunk("b")], [chunk("b"), chunk("a", mode=1)]
    assert [each.kind for each in differences(salts, ours, ordered=False)] == ["arguments"]


def test_values_are_cut_off():
    [(_, _, arguments)] = found([chunk("a", contents="x" * 10_000)], [chunk("a", contents="y" * 10_000)])
    assert [len(value) for value in arguments["contents"]] == [1001, 1001]


@pytest.mark.parametrize("seed", range(30))
def test_each_chunk_is_accounted_for(seed):
    chance = random.Random(seed)
    salts, ours = (
        [chunk(f"id{chance.randrange(6)}", name=f"/{chance.randrange(3)}") for _ in range(chance.randrange(12))]
        for _ in range(2)
    )
    said = list(differences(salts, ours))
    only = [sum(each.kind == kind for each in said) for kind in ("only Salt", "only Saltern")]
    assert len(salts) - only[0] == len(ours) - only[1]
    assert list(differences(salts, salts)) == []
