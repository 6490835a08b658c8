"""The linear engine answers as Python's `re` does, or says that it does not."""

import fnmatch
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matching.limits import TREE_PATTERNS, PatternLimits
from matching.linear_regex import NotLinear, PatternRefused, compile_linear
from matching.matcher import Matcher
from tools.fuzz.patterns import compare, compare_goldens, drawn


def test_many_small_patterns_and_texts_have_the_same_answers():
    counted = sum(compare(*drawn(seed)) for seed in range(400))
    assert counted > 6000


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(
    pattern=st.text("ab()|*+?{}1,2[]^$\\.-wdsbBAZ:iK\n", max_size=12), texts=st.lists(st.text(max_size=6), max_size=4)
)
def test_any_text_as_a_pattern(pattern, texts):
    compare(pattern, texts)


def test_the_patterns_of_our_trees():
    assert compare_goldens() > 20


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("web$", "web\n", True),
        (r"web\Z", "web\n", False),
        ("(?i)k", "\u212a", True),
        ("[[:a]]", "[]", True),
        ("a{,2}b", "aab", True),
        ("a{e}", "a{e}", True),
        (r"\s", "\x1c", True),
        (r"\B", "", re.search(r"\B", "") is not None),
        (r"\w+", "Ünïcode", True),
        ("(?P<name>a)", "a", True),
    ],
)
def test_what_the_engines_read_differently_is_read_as_python_reads_it(pattern, text, found):
    assert (re.match(pattern, text) is not None) is found
    assert compile_linear(pattern, PatternLimits()).match(text) is found


@pytest.mark.parametrize("pattern", ["(?=a)", "(?<!a)b", r"(a)\1", "(?>a)", "a*+", "(a)?(?(1)b|c)", "(?a:b)"])
def test_what_it_cannot_do_is_refused_with_the_reason(pattern):
    with pytest.raises(NotLinear, match="cannot be run in bounded time here: "):
        compile_linear(pattern, PatternLimits())
    assert Matcher(backtracking=True).matches(pattern, "zzz") is (re.match(pattern, "zzz") is not None)


@pytest.mark.parametrize(
    ("pattern", "limit"),
    [
        ("a" * 1001, "pattern-characters"),
        ("(?:" * 500 + ")" * 500, "pattern-characters"),
        ("a{1001}", "program-bytes"),
        ("(a{1000}){1000}", "program-bytes"),
        ("[ab]{999}" * 50, "program-bytes"),
    ],
)
def test_what_would_be_too_large_is_refused(pattern, limit):
    with pytest.raises(PatternRefused) as refused:
        compile_linear(pattern, PatternLimits(pattern_characters=2000 if len(pattern) > 1001 else 1000))
    assert refused.value.limit == limit


@pytest.mark.parametrize("pattern", ["(", "a{99999999999999999999}", "[z-a]", "*"])
def test_what_is_no_pattern_is_pythons_error_each_time(pattern):
    for _ in range(2):
        with pytest.raises(re.error):
            compile_linear(pattern, TREE_PATTERNS)


def test_a_question_that_costs_too_much_is_refused():
    matcher = Matcher(limits=PatternLimits(steps=10_000))
    with pytest.raises(PatternRefused, match="more than 10000 steps"):
        for _ in range(1000):
            matcher.matches("web[0-9]+", "web1")
    assert 10_000 < matcher.spent < 20_000


def test_text_that_cannot_be_compared_does_not_match():
    matcher = Matcher()
    assert not matcher.matches(r"M.nchen\b", "München")
    assert Matcher(backtracking=True).matches(r"M.nchen\b", "München")
    assert not matcher.matches("x", "x" * 20_000)
    assert not matcher.matches("a$|b\n", "a\n") or matcher.matches("a", "a\n")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("*a*a*a*a*a*a*b", "a" * 5000),
        ("web[0-9]", "web1"),
        ("web[!0-9]", "web1"),
        ("[", "["),
        ("a?c", "abc"),
        ("*", ""),
    ],
)
def test_globs_are_pythons(pattern, text):
    assert Matcher().glob(pattern, text) is fnmatch.fnmatchcase(text, pattern)


def test_a_glob_is_bounded():
    with pytest.raises(PatternRefused):
        Matcher().glob("*" * 1001, "a")
    with pytest.raises(PatternRefused):
        Matcher().glob("[Ā-退]" * 50, "a")
