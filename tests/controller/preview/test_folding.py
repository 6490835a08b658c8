"""What is folded stands for just the minions that were given."""

import fnmatch
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.preview.folding import Fleet, folded


def expanded(text, fleet):
    """The ids that a folded text means."""
    found = []
    for part in re.split(r", ", text) if text else ():
        ranges = re.fullmatch(r"([\w.\-]*)\[([\d,\-]+)\]([\w.\-]*)", part)
        if ranges:
            before, runs, after = ranges.groups()
            for run in runs.split(","):
                first, _, last = run.partition("-")
                last = last or first
                width = len(first) if (first.startswith("0") and len(first) > 1) or len(first) == len(last) else 0
                found += [f"{before}{number:0{width}d}{after}" for number in range(int(first), int(last) + 1)]
        elif part.endswith("*"):
            found += fnmatch.filter(fleet, part)
        else:
            found.append(part)
    return found


IDS = st.one_of(
    st.from_regex(r"(web|db|ip-)(0?[0-9]{1,3})(\.a|-eu[12])?", fullmatch=True),
    st.text("ab01.-", min_size=1, max_size=6),
    st.sampled_from(["a[1]", "a*", "[0-9]"]),
)


@given(st.data())
def test_folding_expands_back(data):
    fleet = data.draw(st.sets(IDS, min_size=1, max_size=40))
    wanted = data.draw(st.sets(st.sampled_from(sorted(fleet)), min_size=1))
    text = folded(wanted, Fleet.of(fleet))
    if {"a[1]", "a*", "[0-9]"} & fleet:
        return  # they cannot be told from folded text by a program; nothing of them is folded
    assert sorted(expanded(text, sorted(fleet))) == sorted(wanted)


@pytest.mark.parametrize(
    ("ids", "others", "text"),
    [
        ([f"web{n:02d}" for n in range(1, 41)], ["db1"], "web[01-40]"),
        (["web9", "web10", "web11", "db1"], ["x"], "db1, web[9-11]"),
        (["web1.a", "web2.a", "web4.a"], ["web3.a"], "web[1-2,4].a"),
        (["web-red", "web-blue", "web-green"], ["db1"], "web-*"),
        (["web-red", "web-blue"], ["web-green"], "web-blue, web-red"),
        (["a1", "b1"], [], "*"),
        (["a1"], [], "a1"),
        (["a[1]", "a1", "a2"], ["b"], "a[1-2], a[1]"),
    ],
)
def test_names_are_folded(ids, others, text):
    assert folded(ids, Fleet.of([*ids, *others])) == text
