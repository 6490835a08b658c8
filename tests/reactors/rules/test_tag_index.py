"""The index of globs finds what fnmatch finds."""

from fnmatch import fnmatchcase

from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from reactors.rules.tag_index import TagIndex

PARTS = st.lists(st.sampled_from(["salt", "/", "*", "?", "[ab]", "a", "b", "web1", "[", "]", "!"]), max_size=6)
TEXTS = PARTS.map("".join)


@settings(max_examples=examples(300), derandomize=True, deadline=None)
@given(globs=st.lists(TEXTS, max_size=8), tag=TEXTS)
def test_what_it_finds_is_what_fnmatch_finds_in_the_order_of_the_globs(globs, tag):
    assert TagIndex(globs).matching(tag) == [at for at, glob in enumerate(globs) if fnmatchcase(tag, glob)]


def test_a_star_crosses_slashes_and_a_tag_may_have_a_line_end():
    index = TagIndex(["salt/*/start", "salt/minion/web1/start", "*"])
    assert index.matching("salt/minion/web1/start") == [0, 1, 2]
    assert index.matching("a\nb") == [2]
