"""What `saltern compile` prints for values that JSON and YAML know otherwise, or not at all; by hand and in batches."""

import json
import os
import subprocess
import sys

import pytest
import yaml

from controller.offline import BadCase
from controller.offline.results import as_line, as_text, unicode_of

ODD = """\
größe:
  test.nop:
    - when: 2020-01-02
    - bin: !!binary aGVsbG8=
    - some: !!set {b, a, c, d, e}
    - nothing: ~
    - ratio: .inf
    - big: 123456789012345678901234567890
    - keys: {~: none, false: no, 1: int, 1.5: float, 2020-01-01: date}
    - emoji: "\\U0001F600"
    - control: "a\\x01b"
"""
PILLAR = "~: none\n1: one\nwhen: 2020-01-02\nbin: !!binary aGVsbG8=\nword: größe\n"
WARNS = "exclude:\n  - [nothing]\na:\n  test.nop: []\n"


@pytest.fixture
def roots(tmp_path):
    for name, text in {"s/odd.sls": ODD, "s/warns.sls": WARNS, "p/x.sls": PILLAR}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "s" / "top.sls").write_text("base:\n  '*': [odd]\n")
    (tmp_path / "s" / "half.sls").write_text('#!json\n{"a": {"test.nop": [{"x": "\\ud800"}]}}\n')
    (tmp_path / "s" / "broken.sls").write_text('a: {{ "größe \\ud800" ~ }}\n')
    (tmp_path / "p" / "top.sls").write_text("base:\n  '*': [x]\n")
    return ["--file-root", str(tmp_path / "s"), "--pillar-root", str(tmp_path / "p")]


@pytest.mark.parametrize("show", ["lowstate", "highstate", "pillar", "top", "sls", "reads"])
def test_both_forms_say_the_same(saltern, roots, show):
    as_json = saltern("compile", *roots, "--show", show, "--out", "json")
    as_yaml = saltern("compile", *roots, "--show", show, "--out", "yaml")
    assert (as_json.code, as_yaml.code) == (0, 0), as_json.err
    from_json, from_yaml = json.loads(as_json.out), yaml.safe_load(as_yaml.out)
    assert from_json == json.loads(json.dumps(from_yaml, default=lambda value: as_text(value, "json")[1:-2]))


def test_odd_values(saltern, roots):
    [chunk] = json.loads(saltern("compile", *roots, "--out", "json").out)
    assert chunk["__id__"] == "größe"
    assert chunk["when"] == "2020-01-02"
    assert chunk["bin"] == "b'hello'"
    assert chunk["some"] == "{'a', 'b', 'c', 'd', 'e'}"
    assert chunk["nothing"] is None
    assert chunk["big"] == 123456789012345678901234567890
    assert chunk["keys"] == {"null": "none", "false": False, "1": "int", "1.5": "float", "2020-01-01": "date"}
    [chunk] = yaml.safe_load(saltern("compile", *roots, "--out", "yaml").out)
    assert chunk["bin"] == b"hello"
    assert chunk["keys"] == {None: "none", False: False, 1: "int", 1.5: "float", "2020-01-01": "date"}


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_a_set_is_written_the_same_by_each_process(roots, form):
    code = "from controller.cli import main; main()"
    words = [sys.executable, "-c", code, "compile", *roots, "--out", form]
    texts = {
        subprocess.run(words, env={**os.environ, "PYTHONHASHSEED": seed}, stdout=subprocess.PIPE, check=True).stdout
        for seed in ("1", "2", "3")
    }
    assert len(texts) == 1


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_half_a_character_is_escaped(saltern, roots, form):
    done = saltern("compile", *roots, "half", "--out", form)
    assert done.code == 0, done.err
    assert "\\ud800" in done.out.lower()
    assert (json.loads if form == "json" else yaml.load)(
        done.out, **({} if form == "json" else {"Loader": yaml.SafeLoader})
    )


def test_warnings_go_beside_the_result(saltern, roots):
    done = saltern("compile", *roots, "warns", "--out", "json")
    assert done.code == 0
    assert [chunk["__id__"] for chunk in json.loads(done.out)] == ["a"]
    assert "warning: warns.sls:" in done.err


@pytest.mark.parametrize("show", ["lowstate", "highstate", "sls", "reads"])
def test_errors_leave_nothing_on_the_output(saltern, roots, show):
    done = saltern("compile", *roots, "broken", "--show", show)
    assert (done.code, done.out) == (4, "")
    assert "broken.sls:1" in done.err


def test_what_cannot_be_written():
    endless = []
    endless.append(endless)
    for value in ({(1, 2): 3}, endless):
        with pytest.raises(BadCase, match="JSON"):
            as_line(value)
        with pytest.raises(BadCase, match="JSON"):
            as_text(value, "json")
    with pytest.raises(BadCase, match="YAML"):
        as_text(object(), "yaml")
    assert unicode_of("a\ud800ö") == "a\\ud800ö"
