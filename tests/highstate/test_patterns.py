"""`include_pat` and `exclude_pat`: what Salt's check_include_exclude leaves (recorded from 3008.3)."""

import re

import pytest

from highstate.compile import CompileOptions, compile_sls
from highstate.files import MemoryFiles
from highstate.patterns import is_part
from highstate.types import Minion
from matching import bounded_regex
from matching.bounded_regex import SlowPattern
from matching.limits import BacktrackingLimits

FILES = ("a", "A", "b.conf", "sub/a", "sub/b.conf", ".hidden")


@pytest.mark.parametrize(
    ("include", "exclude", "left"),
    [
        (None, None, FILES),
        ([], "", FILES),
        ("*.conf", None, ("b.conf", "sub/b.conf")),
        ("E@^sub/", None, ("sub/a", "sub/b.conf")),
        (None, "E@^sub/", ("a", "A", "b.conf", ".hidden")),
        (None, "*.conf", ("a", "A", "sub/a", ".hidden")),
        (["a", "E@conf$"], None, ("a", "b.conf", "sub/b.conf")),
        (["a", "E@conf$"], ["E@^b"], ("a", "sub/b.conf")),
        ("*", ["sub/*", ".*"], ("a", "A", "b.conf")),
        ("E@(?i)^a", None, ("a", "A")),
        ("e@a", None, ()),
        ("E@", None, FILES),
    ],
)
def test_as_salt_leaves_them(include, exclude, left):
    assert tuple(path for path in FILES if is_part(path, include, exclude)) == left


def test_what_cannot_be_used_is_an_error(monkeypatch):
    monkeypatch.setattr(bounded_regex, "_LIMITS", BacktrackingLimits(seconds=0.1))  # met sooner than in production
    with pytest.raises(re.error):
        is_part("a", "E@(", None)
    with pytest.raises(SlowPattern):
        is_part("a" * 40 + "!", None, r"E@(a|aa)+\1+$")
    assert is_part("a" * 40 + "!", None, "E@(a|aa)+$")


@pytest.mark.parametrize("key", ["include_pat", "exclude_pat"])
def test_a_compile_says_where_a_broken_pattern_stands(key):
    sls = f"/srv/www:\n  file.recurse:\n    - source: salt://www\n    - {key}: E@(\n"
    files = MemoryFiles({"base": {"a.sls": sls.encode(), "www/one": b"1", "www/two": b"2"}})
    done = compile_sls(files, MemoryFiles({}), Minion(id="m"), CompileOptions(), ["a"])
    [problem] = done.errors
    assert "a pattern of its files cannot be used: " in problem.message
    assert problem.pos.file == "a.sls"


@pytest.mark.parametrize("nothing", ["[]", "''", "null"])
def test_an_empty_pattern_leaves_all(nothing):
    sls = f"/srv/www:\n  file.recurse:\n    - source: salt://www\n    - include_pat: {nothing}\n"
    files = MemoryFiles({"base": {"a.sls": sls.encode(), "www/one": b"1", "www/two": b"2"}})
    done = compile_sls(files, MemoryFiles({}), Minion(id="m"), CompileOptions(), ["a"])
    [content] = done.contents.values()
    assert len(content.files) == 2
