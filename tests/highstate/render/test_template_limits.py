"""Trees that would take all time or memory: each costs an error with its place, and nothing else."""

import pytest

from highstate.compile import CompileOptions, compile_minion
from highstate.files import MemoryFiles
from highstate.limits import TemplateLimits
from highstate.render import sandbox
from highstate.types import Minion
from matching import bounded_regex
from matching.bounded_regex import SlowPattern, match, replace, search
from matching.limits import BacktrackingLimits

EVIL = "(a|aa)+$"
LONG = "a" * 40 + "!"


@pytest.fixture(autouse=True)
def low_limits(monkeypatch):
    """Those of time are met sooner than in production."""
    monkeypatch.setattr(bounded_regex, "_LIMITS", BacktrackingLimits(seconds=0.1))
    monkeypatch.setattr(sandbox, "LIMITS", TemplateLimits(steps=100_000))


def errors(one, top="base:\n  '*':\n    - one\n", **files):
    trees = {"top.sls": top, "one.sls": one, **files}
    tree = MemoryFiles({"base": {path: text.encode() for path, text in trees.items()}})
    grains = {"id": "m", "long": LONG}
    return compile_minion(tree, MemoryFiles({}), Minion(id="m", grains=grains), CompileOptions()).errors


def problem(one, **others):
    found = errors(one, **others)
    assert len(found) == 1
    return found[0]


def test_a_regular_expression_that_never_ends():
    found = problem(f"{{{{ '{LONG}' | regex_search('{EVIL}') }}}}\n")
    assert "takes more than 0.1 s" in found.message
    assert found.pos.line == 1


def top_of(pattern):
    return f"base:\n  'long:{pattern}':\n    - match: grain_pcre\n    - one\n"


@pytest.mark.parametrize("pattern", [EVIL, ".?" * 300 + "Z", "(?:|a|aa){60}Z"])
def test_a_target_that_would_never_end_by_trial(pattern):
    assert errors("a: {test.nop: []}\n", top=top_of(pattern)) == ()


def test_a_target_that_never_ends():
    found = problem("a: {test.nop: []}\n", top=top_of(r"(a|aa)+\1+$"))
    assert "takes more than 0.1 s" in found.message
    assert found.pos.file == "top.sls"


def test_a_target_that_looks_around_matches_in_a_tree():
    found = problem("a: [\n", top=top_of("(?!web).*(?<=a)!$"))
    assert found.pos.file == "one.sls"


@pytest.mark.parametrize("ask", [search, match])
def test_slow_patterns_are_bounded_and_others_are_pythons_own(ask):
    with pytest.raises(SlowPattern):
        ask(EVIL, LONG)
    assert ask("(a+)(b*)(c?)", "aab").groups() == ("aa", "b", "")
    assert replace(r"(\w+) (\w+)", r"\2 \1", "one two") == "two one"


@pytest.mark.parametrize(
    ("template", "says"),
    [
        (
            "{% set x = ['a' * 1000] %}{% for i in range(9) %}{% set _ = x.append(x[-1] ~ x[-1] * 9) %}{% endfor %}",
            "makes",
        ),
        ("{{ 'x' * 100000000 }}", "makes too much"),
        ("{{ 10 ** 10000000 }}", "too large"),
        ("{{ range(100000000) | list }}", "range"),
        ("{% set l = [0] %}{% for i in range(40) %}{% do l.extend(l) %}{% endfor %}", "steps"),
        ("{% set l = [0] %}{% for i in l %}{% do l.append(i) %}{% endfor %}", "steps"),
        (
            "{% for i in range(9999) %}{% set l = [0] %}"
            "{% for j in l %}{% if loop.first %}{% do l.extend(range(9999)) %}{% endif %}{% endfor %}{% endfor %}",
            "steps",
        ),
        (
            "x: {{ ([0] * 9000000) + ([0] * 9000000) }}",
            "makes too much",
        ),
        ("{{ '%999999999d' | format(1) }}", "too wide"),
        ("{{ '%999999999d' % 1 }}", "too wide"),
        ("{{ '%*d' | format(999999999, 1) }}", "too wide"),
        ("{{ '{:999999999}'.format(1) }}", "too wide"),
        ("{{ '{0:{1}}'.format(1, 999999999) }}", "too wide"),
        ("{{ 'a'.ljust(999999999) }}", "too wide"),
        ("{{ 'a'.center(999999999) }}", "too wide"),
        ("{{ 'a' | center(999999999) }}", "too wide"),
        ("{{ 'a' | indent(999999999, true) }}", "too wide"),
        ("{{ ('a' * 9000000) | replace('a', 'b' * 1000) }}", "makes too much"),
        ("{{ ('a' * 9000000).replace('a', 'b' * 1000) }}", "makes too much"),
        ("{{ (['a' * 5000] * 5000) | join }}", "makes too much"),
        ("{{ ''.join(['a' * 5000] * 5000) }}", "makes too much"),
        ("{{ 'a\\n'.expandtabs(999999999) ~ '\\ta'.expandtabs(999999999) }}", "too wide"),
        ("{{ range(40) | permutations | list | length }}", "makes too much"),
        ("{{ range(900) | product(range(900), range(900)) | list | length }}", "makes too much"),
        ("{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}", "without end"),
        (
            "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
            "steps",
        ),
        ("{% for a in range(99999) %}{{ 'x' * 9999 }}{% endfor %}", "writes more"),
        ("a: {{ '10.0.0.0/8' | network_hosts }}", "too many hosts"),
        ("{% include 'one.sls' %}", "without end"),
    ],
)
def test_jinja_bombs(template, says):
    assert says in problem(template).message


def test_a_yaml_bomb():
    text = "a: &a [x, x, x, x, x, x, x, x, x]\n"
    for above, below in zip("abcdefghi", "bcdefghij", strict=True):
        text += f"{below}: &{below} [" + ", ".join([f"*{above}"] * 9) + "]\n"
    assert "unfold" in problem(text).message
    assert "unfold" in problem(text.replace("a: &a", "#!yamlex\na: &a", 1)).message


def test_depth_is_bounded():
    assert problem("[" * 100_000).message
    assert problem("#!json\n" + "[" * 100_000).message
    assert problem("#!toml\na = " + "[" * 100_000).message
    assert problem("{{ " + "(" * 5_000 + "1" + ")" * 5_000 + " }}").message
