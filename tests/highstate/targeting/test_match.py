"""Targeting, expression by expression, as Salt's minions answer them."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from highstate.targeting.match import BadTarget, asked_ranges, match_minion, parse_target
from highstate.types import Minion
from matching.linear_regex import PatternRefused

MINION = Minion(
    id="web1.example.org",
    grains={
        "os": "Debian",
        "roles": ["web", "proxy"],
        "ipv4": ["10.1.2.3", "127.0.0.1"],
        "ipv6": ["fe80::1"],
        "cpu": {"model": {"name": "x:y"}},
        "num": 4,
        "flags": {"80": "on"},
    },
)
PILLAR = {"team": "Infra", "nested": {"a": {"b": "value"}}, "list": [{"k": "v"}, "plain"]}
GROUPS = {
    "web": "web* or app*",
    "both": "N@web and G@os:Debian",
    "loop": "N@loop",
    "ids": ["web1.example.org", "db1"],
    "words": ["G@os:Debian", "and", "not", "db*"],
}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("*", True),
        ("web*", True),
        ("db*", False),
        ("web[0-3].example.org", True),
        ("G@os:Debian", True),
        ("G@os:debian", True),
        ("G@os:Deb*", True),
        ("G@os:RedHat", False),
        ("os:Debian", False),
        ("G@roles:proxy", True),
        ("G@cpu:model:name:x:y", True),
        ("G@num:4", True),
        ("G@flags:80:on", True),
        ("G@os", False),
        ("G@nope:*", False),
        ("G@roles:*", True),
        ("G|@os|Debian", True),
        ("P@os:(Debian|Ubuntu)", True),
        ("P@os:([", False),
        ("E@web\\d+\\..*", True),
        ("E@([", False),
        ("L@a,web1.example.org", True),
        ("L@a,b", False),
        ("S@10.1.0.0/16", True),
        ("S@10.1.2.3", True),
        ("S@10.2.0.0/16", False),
        ("S@fe80::/10", True),
        ("S@nonsense", False),
        ("I@team:infra", True),
        ("I@nested:a:b:val*", True),
        ("I@nested:a:b", True),
        ("I@nested:*:b", True),
        ("I@list:k:v", True),
        ("I@list:plain", True),
        ("J@team:In.*", True),
        ("web* and G@os:Debian", True),
        ("web* and not G@os:Debian", False),
        ("web* not G@os:RedHat", True),
        ("not db*", True),
        ("not not web*", False),
        ("not ( not web* )", True),
        ("db* or web*", True),
        ("db* and web* or web*", True),
        ("db* and ( web* or web* )", False),
        ("( db* or web* ) and G@os:Debian", True),
        ("N@web", True),
        ("N@both", True),
        ("N@ids", True),
        ("N@words", True),
        ("N@loop", False),
        ("N@nope", False),
        ("not N@nope", False),
        ("", False),
        ("and", False),
        ("web* and", False),
        ("( web*", False),
        ("web* )", False),
        ("()", False),
        ("web* web*", False),
        ("R@range", False),
    ],
)
def test_compound(expression, expected):
    assert match_minion(expression, MINION, PILLAR, nodegroups=GROUPS) is expected


@pytest.mark.parametrize(
    ("kind", "expression", "expected"),
    [
        ("glob", "web*", True),
        ("glob", "G@os:Debian", False),
        ("list", "web1.example.org", True),
        ("list", "web1.example.org,b", True),
        ("list", "web1", False),
        ("pcre", "web", True),
        ("grain", "os:Deb*", True),
        ("grain_pcre", "os:Deb", True),
        ("pillar", "nested:a:b:value", True),
        ("pillar_pcre", "team:inf", True),
        ("pillar_exact", "team:infra", True),
        ("pillar_exact", "team:inf*", False),
        ("ipcidr", "10.1.2.0/24", True),
        ("nodegroup", "web", True),
        ("nodegroup", "nope", False),
    ],
)
def test_kinds(kind, expression, expected):
    assert match_minion(expression, MINION, PILLAR, kind=kind, nodegroups=GROUPS) is expected


def test_a_minion_without_data_matches_by_id_alone():
    bare = Minion(id="m")
    assert match_minion("m", bare)
    assert not match_minion("G@os:* or S@10.0.0.0/8 or I@a:*", bare)


@pytest.mark.parametrize(
    ("expression", "kind", "says"),
    [
        ("  ", "compound", "empty"),
        ("web* and", "compound", "missing after 'web* and'"),
        ("or web*", "compound", "nothing stands before or"),
        ("( web*", "compound", "never closed"),
        ("a b", "compound", "'b' is not expected after 'a'"),
        ("X@a", "compound", "no matcher X@"),
        ("G@os", "compound", "names no value"),
        ("N@nope", "compound", "no nodegroup 'nope' (nodegroups: both, ids, loop, web, words)"),
        ("N@loop", "compound", "contains itself: loop -> loop"),
        ("E@([", "compound", "no regular expression"),
        ("E@(?!web).*", "compound", "looks ahead or behind"),
        (r"a:(b)\1", "grain_pcre", "refers to a group"),
        ("a:b{5000}", "grain_pcre", "repeats something more than 1000 times"),
        ("10.0.0.0/99", "ipcidr", "no IP address"),
        ("nope", "nodegroup", "no nodegroup"),
        ("%web", "range", "asked of a server"),
        ("web* or R@%web", "compound", "asked of a server"),
    ],
)
def test_people_are_told_what_is_wrong(expression, kind, says):
    with pytest.raises(BadTarget) as caught:
        parse_target(expression, kind=kind, nodegroups=GROUPS)
    assert says in str(caught.value)


def test_a_range_matches_where_its_hosts_are_known():
    ranges = {"%web": {MINION.id}, "%db": {"db1"}}
    assert match_minion("R@%web and not R@%db", MINION, ranges=ranges)
    assert not match_minion("R@%db", MINION, ranges=ranges)
    for expression in ("R@%web", "not R@%web", "* or R@%web"):
        assert not match_minion(expression, MINION)
    assert not match_minion("%web", MINION, kind="range")


def test_the_ranges_of_an_expression_are_named_once():
    groups = {"front": "R@%web or R@%edge", "list": ["R@%web", "db1"]}
    assert asked_ranges("R@%web or N@front", kind="compound", nodegroups=groups) == ("%web", "%edge")
    assert asked_ranges("list", kind="nodegroup", nodegroups={"list": ["R@%web", "or", "db1"]}) == ("%web",)
    assert asked_ranges("%web", kind="range") == ("%web",)
    assert asked_ranges("R@%web", kind="glob") == ()


def test_a_delimiter_of_its_own_is_read():
    assert parse_target("G|@a|b:c and P/@x/y.* and web*", nodegroups=GROUPS)
    with pytest.raises(BadTarget, match=r"name/value"):
        parse_target("G/@os:Debian", nodegroups=GROUPS)


def test_what_a_target_costs_is_bounded():
    nested = "x"
    for _ in range(60):
        nested = {"a": nested}
    doubled = {f"n{at}": f"N@n{at + 1} or N@n{at + 1}" for at in range(40)}
    minion = Minion(id="web1", grains=nested)
    with pytest.raises(PatternRefused, match="steps to match"):
        match_minion("a:" * 60 + "b", minion, kind="grain")
    with pytest.raises(PatternRefused, match="steps to match"):
        match_minion("n0", minion, kind="nodegroup", nodegroups={**doubled, "n40": "web*"})
    with pytest.raises(PatternRefused, match="more than 50 parentheses"):
        match_minion("( " * 51 + "web1" + " )" * 51, minion)
    with pytest.raises(PatternRefused, match="longer than 100000 characters"):
        match_minion("a," * 60_000, minion, kind="list")


def test_a_good_target_is_given_back():
    assert parse_target("G@os:Debian and ( web* or not L@a,b )") == "G@os:Debian and ( web* or not L@a,b )"


words = st.lists(st.sampled_from(["web*", "db*", "and", "or", "not", "(", ")", "G@os:Debian"]), max_size=7)


@given(words)
@example(["(", "web*", "and", "web*", ")", "(", ")"])
@example(["web*", "(", "db*", ")"])
def test_a_compound_is_what_python_makes_of_it(parts):
    """Salt evaluates the words as Python does, with `and` put before a `not` that follows a value."""
    python: list[str] = []
    for word in parts:
        if word == "not" and python and python[-1] not in ("and", "or", "("):
            python.append("and")
        python.append(word if word in ("and", "or", "not", "(", ")") else str(word != "db*"))
    try:
        expected = eval(" ".join(python), {}) is True
    except (SyntaxError, TypeError):  # parentheses after a value are a call
        expected = False
    if "( )" in " ".join(parts):
        expected = False
    assert match_minion(" ".join(parts), MINION) is expected
