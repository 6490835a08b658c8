"""Cases compiled without a controller: one at a time and in batches that nothing may stop."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller.offline import BadCase, Isolated, Lost, parse_case, run_batch
from controller.offline import batch as batches
from controller.offline.trees import GitTree, TreeUnavailable, environment_of

ENDLESS = "#!py\nimport time\n\ndef run():\n    time.sleep(600)\n"


@pytest.fixture
def tree(tmp_path):
    """Write SLS of base; gives what names them in a case."""

    def write(**texts):
        for name, text in texts.items():
            path = tmp_path / "states" / f"{name}.sls"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return {"file_roots": {"base": [str(tmp_path / "states")]}}

    return write


def batch(*cases, timeout=60.0, **options):
    lines = b"".join((case if isinstance(case, bytes) else json.dumps(case).encode()) + b"\n" for case in cases)
    out = io.BytesIO()
    failed = run_batch(io.BytesIO(lines), out, timeout=timeout, **options)
    answers = [json.loads(line) for line in out.getvalue().splitlines()]
    assert failed == sum(not answer["ok"] for answer in answers)
    return answers


def test_a_line_for_a_line_whatever_is_in_it(tree):
    roots = tree(good="a:\n  test.nop: []\n", bad="a:\n  test.nop:\n", endless=ENDLESS)
    good = {"id": "good", **roots, "sls": ["good"]}
    answers = batch(
        good,
        {**good, "id": "bad", "sls": "bad"},
        b"",
        b"   ",
        b"nonsense",
        b'["a list"]',
        b"\xff\xfe",
        {**good, "id": [1], "sls": 3},
        {**good, "id": "both", "highstate": True},
        {**good, "id": "opt", "opts": {"state_auto_order": "no"}},
        {**good, "id": "more", "slss": 1},
        {**good, "id": "endless", "sls": ["endless"]},
        {**good, "id": None},
        timeout=5.0,
    )
    assert [answer["id"] for answer in answers] == [
        *("good", "bad", None, None, None, [1], "both", "opt", "more", "endless", None)
    ]
    assert [answer["ok"] for answer in answers] == [True, *[False] * 7, True, False, True]
    first = answers[0]
    assert set(first) == {"id", "ok", "result", "ms"}
    assert first["ms"] > 0
    assert first["result"] == answers[-1]["result"]
    [error] = answers[1]["errors"]
    assert (error["file"], error["line"], error["stage"]) == ("bad.sls", 2, "compile")
    assert error["text"].startswith("bad.sls:2: ")
    assert "sls" in answers[5]["errors"][0]["message"]
    assert "state_auto_order" in answers[7]["errors"][0]["message"]
    assert "did you mean 'sls'" in answers[8]["warnings"][0]["message"]
    assert "more than 5 s" in answers[9]["errors"][0]["message"]


def test_memory_that_a_case_eats_is_its_own(tree):
    roots = tree(
        eats="{% set found = [] %}{% for a in range(90000) %}{% do found.append('x' * 60000) %}{% endfor %}a: 1\n",
        good="a:\n  test.nop: []\n",
    )
    eats, good = batch({**roots, "sls": "eats"}, {**roots, "sls": "good"}, memory=1 << 30)
    assert not eats["ok"]
    assert good["ok"]


def test_an_answer_that_is_too_large_is_refused(tree, monkeypatch):
    monkeypatch.setattr(batches, "LARGEST_ANSWER", 2000)
    roots = tree(large="a:\n  test.nop:\n    - text: " + "x" * 3000 + "\n", good="a:\n  test.nop: []\n")
    large, good = batch({"id": 1, **roots, "sls": "large"}, {"id": 2, **roots, "sls": "good"})
    assert (large["id"], large["ok"], good["ok"]) == (1, False, True)
    assert "2000 are allowed" in large["errors"][0]["message"]


def test_a_line_that_is_too_long_is_passed_over(tree, monkeypatch):
    monkeypatch.setattr(batches, "LONGEST_CASE", 1000)
    roots = tree(good="a:\n  test.nop: []\n")
    long, good = batch({"id": "x" * 5000}, {"id": 2, **roots, "sls": "good"})
    assert not long["ok"]
    assert good["ok"]


def test_recorded_facts(tree):
    roots = tree(a="{{ salt['cmd.run']('uname -m') }}:\n  test.nop: []\n")
    case = {**roots, "sls": ["a"]}
    fact = {"fun": "cmd.run", "args": ["uname -m"], "ret": "riscv"}
    without, with_fact, another = batch(case, {**case, "facts": [fact]}, {**case, "facts": [{**fact, "ret": "arm"}]})
    assert not without["ok"]
    assert "cmd.run" in without["errors"][0]["message"]
    assert [with_fact["result"][0]["__id__"], another["result"][0]["__id__"]] == ["riscv", "arm"]


def test_external_pillar(tree):
    roots = tree(a="{{ pillar.from_command }}:\n  test.nop: []\n")
    opts = {"ext_pillar": [{"cmd_json": 'echo \'{"from_command": "yes-it-is"}\''}]}
    [answer] = batch({**roots, "sls": "a", "opts": opts})
    assert answer["result"][0]["__id__"] == "yes-it-is"


def test_cases_that_differ_in_grains_or_pillar_differ(tree):
    roots = tree(a="{{ grains.os }}-{{ pillar.x }}-{{ grains.id }}:\n  test.nop: []\n")
    cases = [{**roots, "sls": "a", "grains": {"os": os}, "pillar": {"x": x}} for os in "AB" for x in (1, 2)]
    ids = [answer["result"][0]["__id__"] for answer in batch(*cases, *cases)]
    assert ids == ["A-1-minion", "A-2-minion", "B-1-minion", "B-2-minion"] * 2


def test_files_are_checked_where_asked(tree):
    roots = tree(a="/x:\n  file.managed:\n    - source: salt://gone\n")
    plain, checked = batch({**roots, "sls": "a"}, {**roots, "sls": "a", "check_files": True})
    assert plain["ok"]
    assert "salt://gone" in checked["errors"][0]["message"]


def test_what_a_compile_read(tree):
    roots = tree(a="{{ grains.os }}{{ pillar.get('x', {}).get('y') }}:\n  test.nop: []\n")
    [answer] = batch({**roots, "sls": "a", "show": "reads", "grains": {"os": "X"}})
    assert answer["result"]["states"] == {"files": ["base:a.sls"], "grains": ["os"], "pillar": ["x"]}


def test_answers_come_while_the_next_case_is_awaited(tree):
    roots = tree(a="a:\n  test.nop: []\n")
    code = "from controller.cli import main; main()"
    command = [sys.executable, "-c", code, "compile", "--batch", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for number in range(3):
            process.stdin.write(json.dumps({"id": number, **roots, "sls": "a"}).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == number
        process.stdin.close()
        assert process.wait(30) == 0


def test_a_process_that_dies_is_replaced():
    def start():
        def work(payload):
            if payload == b"die":
                os.kill(os.getpid(), signal.SIGKILL)
            if payload == b"hang":
                time.sleep(600)
            return payload

        return work

    with Isolated(start, timeout=2.0) as isolated:
        assert isolated.ask(b"1") == b"1"
        with pytest.raises(Lost, match="SIGKILL"):
            isolated.ask(b"die")
        assert isolated.ask(b"2") == b"2"
        with pytest.raises(Lost, match="more than 2 s"):
            isolated.ask(b"hang")
        assert isolated.ask(b"3") == b"3"


def test_options_as_salt_takes_them():
    case, _ = parse_case({"opts": {"disabled_requisites": "require", "state_top_saltenv": False, "pillarenv": None}})
    found = case.settings()
    assert (found.disabled_requisites, found.state_top_saltenv, found.pillarenv) == (("require",), None, None)
    with pytest.raises(BadCase, match="env_order"):
        parse_case({"opts": {"env_order": [1]}})[0].settings()


def test_git_trees_by_name():
    assert GitTree.parse("git@example.org:a/b.git@v1.0:sub/dir") == GitTree(
        saltenv="base", url="git@example.org:a/b.git", ref="v1.0", root="sub/dir"
    )
    assert GitTree.parse("qa=/srv/repo@feature/x").saltenv == "qa"
    assert environment_of("https://example.org/?a=b") == ("base", "https://example.org/?a=b")
    for bad in ("", "repo", "repo@", "@main"):
        with pytest.raises(TreeUnavailable):
            GitTree.parse(bad)


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)
KEYS = st.sampled_from(
    ["id", "sls", "grains", "pillar", "opts", "facts", "show", "minion_id", "saltenv", "highstate", "x"]
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a loaded machine draws slowly
@given(st.dictionaries(KEYS, JSON))
def test_any_keys_make_a_case_or_say_what_is_wrong(keys):
    with contextlib.suppress(BadCase):
        parse_case(keys)[0].settings()


_WORDS = r"""
{{ pillar }} | {{ grains.x.y }} | {% for a in range(9) %} | {% endfor %} | {% if %} | {# | a: | b: | [ | { | ] | } | - |
&a | *a | <<: | ! | !!python/object:a | test.nop: | require: | include: | extend: | exclude: | names: | order: | '*': |
base: | base | #!jinja|yaml | #!json | #!x | {{ ''.join(1) }} | {{ 'a' * 99999999 }} | ~ | > | % |
{{ salt['cmd.run']('id') }} | {{ salt.a.b.c }} |
{% import 'a.sls' %} | {% include 'a.sls' %} | 0x | 1e9 | @ | ` | {{ self }} | {{ [].__class__ }}
"""
WORDS = [word.strip() for word in _WORDS.split(" |") if word.strip()]
SPACES = ["\n", "\n  ", "\n    - ", " ", "\t", "\0", "\r", "\u2028"]
FRAGMENTS = st.lists(st.sampled_from(WORDS + SPACES), max_size=25).map(lambda parts: "".join(parts).encode())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.tuples(*[FRAGMENTS | st.binary(max_size=60)] * 4), grains=st.dictionaries(st.text(), JSON, max_size=3))
def test_any_bytes_give_a_result_or_errors_with_places(texts, grains, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")
    for path, data in zip(("s/top.sls", "s/a.sls", "p/top.sls", "p/a.sls"), texts, strict=True):
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(data)
    roots = {"file_roots": {"base": [str(folder / "s")]}, "pillar_roots": {"base": [str(folder / "p")]}}
    case = {**roots, "grains": {key: value for key, value in grains.items() if key != "id"}}
    work = batches._worker({})
    for words in (
        {"highstate": True},
        {"sls": "a"},
        {"show": "pillar"},
        {"show": "top"},
        {"sls": "a", "show": "reads"},
    ):
        answer = json.loads(work(json.dumps({**case, **words}).encode())[1:])
        for error in answer.get("errors", []):
            assert error["message"]
            assert error["file"]
            assert "the compile failed" not in error["message"], error
            assert "Traceback" not in error["text"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"file_roots": {"base": ["/no/such/folder"]}}, "No matching sls found for 'good'"),
        ({"file_roots": ["a-list"]}, "file_roots: "),
        ({"file_roots": {"": ["x"]}}, "file_roots: ''"),
        ({"file_roots": {"base": ["a\0b"]}}, "file_roots: 'base'"),
        ({"show": "everything"}, "none of lowstate, highstate"),
        ({"saltenv": "nowhere"}, "There is no saltenv 'nowhere'"),
        ({"sls": "../../../etc/passwd"}, "No matching sls found"),
        ({"sls": "bomb"}, "bomb.sls:"),
        ({"sls": "aliases"}, "aliases.sls"),
        ({"opts": {"jinja_env": 5}}, "jinja_env"),
        ({"opts": {"state_top_saltenv": {}}}, "state_top_saltenv"),
        ({"facts": [{"ret": 1}]}, "facts[0]"),
        ({"grains": []}, "grains: "),
        ({"pillar": "x"}, "pillar: "),
    ],
)
def test_a_hostile_case_has_one_line_and_spoils_no_other(tree, words, said):
    roots = tree(
        good="a:\n  test.nop: []\n",
        bomb="{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}",
        aliases="a: &a [x, x]\n"
        + "".join(
            f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}]\n" for a, b in zip("abcdefghijklm", "bcdefghijklmn", strict=True)
        ),
    )
    good = {"id": "good", **roots, "sls": ["good"]}
    before, hostile, after = batch(good, {**good, "id": "hostile", **words}, {**good, "id": "after"}, timeout=30.0)
    assert (hostile["id"], hostile["ok"]) == ("hostile", False)
    assert said in hostile["errors"][0]["text"]
    assert before["result"] == after["result"]
    assert after["id"] == "after"


def test_what_is_null_is_not_given(tree):
    roots = tree(good="a:\n  test.nop: []\n")
    names = ("pillar_roots", "pillar", "grains", "minion_id", "saltenv", "highstate", "opts", "facts", "show")
    [plain, nulls] = batch({**roots, "sls": "good"}, {**roots, "sls": "good", **dict.fromkeys(names)})
    assert plain["result"] == nulls["result"]
