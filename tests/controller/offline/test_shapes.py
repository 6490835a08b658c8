"""What `saltern compile` shows is what Salt shows: compared with recorded answers, and with Salt itself by SALT_VENV.

`SALT_VENV=DIR pytest tests/controller/offline/test_shapes.py --rewrite` records Salt's answers anew.
"""

import io
import json
import os
import subprocess
from pathlib import Path

import pytest

from controller.offline import run_batch

HERE = Path(__file__).parent
RECORDED = HERE / "recorded_shapes.json"
SHOWS = ("lowstate", "highstate", "pillar", "top", "sls")

WEB = {
    "states/base/top.sls": "base:\n  '*':\n    - common\n    - web*\n  'os:Debian':\n    - match: grain\n    - apt\n"
    "qa:\n  'w*':\n    - only\n",
    "states/base/common.sls": "include:\n  - apt\nmotd:\n  file.managed:\n    - name: /etc/motd\n    - mode: 0644\n"
    "    - contents: {{ pillar['text'] }} {{ opts['saltenv'] }} {{ saltenv }}\n    - require:\n      - pkg: vim\n",
    "states/base/apt.sls": "vim:\n  pkg.installed:\n    - names: [vim, {nano: [{version: 1}]}]\n",
    "states/base/web/init.sls": "nginx:\n  pkg.installed: []\n  service.running:\n    - watch:\n      - pkg: nginx\n"
    "    - watch_in:\n      - file: motd\nextend:\n  vim:\n    pkg:\n      - hold: true\n",
    "states/base/web/site.sls": "n-{{ pillar['numbers'] | join('-') }}:\n  cmd.run:\n    - name: {{ grains['os'] }}\n"
    "    - prereq:\n      - nginx\n",
    "states/base/bare.sls": "x: test.nop\nexclude:\n  - id: y\ny:\n  test.nop: []\n",
    "states/qa/only.sls": "only:\n  test.succeed_without_changes:\n    - order: last\n",
    "states/qa/top.sls": "qa:\n  '*': [only]\n",
    "pillar/base/top.sls": "base:\n  '*': [a, b]\nqa:\n  '*': [q]\n",
    "pillar/base/a.sls": "text: hello\nnumbers: [1, 2]\ndeep: {one: {two: 1, three: [x]}}\n1: int key\nnothing: null\n",
    "pillar/base/b.sls": "include:\n  - c:\n      key: nested:below\n      defaults: {word: given}\nnumbers: [2, 3]\n"
    "deep: {one: {two: 2}}\n",
    "pillar/base/c.sls": "word: {{ word }}\nwhen: 2020-01-02\nmode: 0755\nratio: 1.5\nyes: on\n",
    "pillar/qa/q.sls": "env: qa\n",
}
BROKEN = {
    "states/base/top.sls": "base:\n  '*': [a]\n",
    "states/base/a.sls": "a:\n  test.nop:\n    - require:\n      - test: nowhere\n",
    "states/base/b.sls": "b:\n  test.nop:\n    - order\n",
    "states/base/c.sls": "c: {{ nothing.there }}\n",
    "pillar/base/top.sls": "{}\n",
}
EMPTY = {"states/base/none.txt": "\n", "pillar/base/none.txt": "\n"}
BAD_PILLAR = {**BROKEN, "pillar/base/top.sls": "base:\n  '*': [gone]\n"}

CASES = {
    "highstate": (WEB, {}),
    "qa-alone": (WEB, {"saltenv": "qa"}),
    "base-alone": (WEB, {"saltenv": "base"}),
    "pillar-given": (WEB, {"pillar": {"text": "other", "numbers": [9], "deep": {"one": {"three": ["y"]}}}}),
    "pillar-given-lists": (WEB, {"pillar": {"numbers": [9, 1]}, "opts": {"pillar_merge_lists": True}}),
    "pillar-given-seen": (
        {**WEB, "pillar/base/b.sls": "seen: {{ salt['pillar.get']('text', 'none') }}\n"},
        {"pillar": {"text": "other"}},
    ),
    "pillar-given-overwrite": (
        WEB,
        {"pillar": {"deep": {"four": 4}}, "opts": {"pillar_source_merging_strategy": "overwrite"}},
    ),
    "sls": (WEB, {"sls": ["web"], "pillar": {"text": "t"}}),
    "sls-qa": (WEB, {"sls": ["only"], "saltenv": "qa"}),
    "sls-bare": (WEB, {"sls": ["bare", "apt"]}),
    "sls-missing": (WEB, {"sls": ["bare", "gone"]}),
    "no-auto-order": (WEB, {"opts": {"state_auto_order": False}}),
    "disabled": (WEB, {"opts": {"disabled_requisites": ["require"]}}),
    "pillarenv": (WEB, {"opts": {"pillarenv": "qa"}, "sls": ["bare"]}),
    "top-of-qa": (WEB, {"opts": {"state_top_saltenv": "qa"}}),
    "merge-all": (WEB, {"opts": {"top_file_merging_strategy": "merge_all"}}),
    "same": (WEB, {"opts": {"top_file_merging_strategy": "same"}}),
    "includes-win": (WEB, {"opts": {"pillar_includes_override_sls": True}}),
    "jinja-env": (
        {**WEB, "states/base/trim.sls": "a:\n  {% if true %}\n  test.nop:\n  {% endif %}\n    - x: 1\n"},
        {"sls": ["trim"], "opts": {"jinja_sls_env": {"trim_blocks": True, "lstrip_blocks": True}}},
    ),
    "missing-requisite": (BROKEN, {}),
    "bad-form": (BROKEN, {"sls": ["b"]}),
    "bad-template": (BROKEN, {"sls": ["c"]}),
    "bad-pillar": (BAD_PILLAR, {}),
    "empty": (EMPTY, {}),
}


def case_of(name, folder):
    """The case with its trees written to a folder."""
    tree, words = CASES[name]
    for path, text in tree.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    roots = {
        kind: {env.name: [str(env)] for env in sorted((folder / top).iterdir())}
        for kind, top in (("file_roots", "states"), ("pillar_roots", "pillar"))
    }
    return {"id": name, **roots, "minion_id": "web1", "grains": {"os": "Debian", "os_family": "Debian"}, **words}


def ours(case):
    """{show: result or error} of one case."""
    lines = "".join(json.dumps({**case, "show": show}) + "\n" for show in SHOWS)
    out = io.BytesIO()
    run_batch(io.BytesIO(lines.encode()), out, timeout=60)
    answers = [json.loads(line) for line in out.getvalue().splitlines()]
    return {
        show: {"result": one["result"]} if one["ok"] else {"error": True}
        for show, one in zip(SHOWS, answers, strict=True)
    }


@pytest.fixture(scope="module")
def recorded():
    return json.loads(RECORDED.read_text())


@pytest.mark.parametrize("name", CASES)
def test_as_recorded_from_salt(name, recorded, tmp_path):
    assert ours(case_of(name, tmp_path)) == recorded[name]


def test_salt_itself(tmp_path, pytestconfig):
    venv = os.environ.get("SALT_VENV")
    if not venv:
        pytest.skip("needs a virtualenv that has Salt: SALT_VENV=DIR")
    cases = {name: case_of(name, tmp_path / name) for name in CASES}
    (tmp_path / "salt").mkdir()
    done = subprocess.run(
        [Path(venv, "bin", "python"), HERE / "salt_shapes.py", tmp_path / "salt"],
        input="".join(json.dumps(case) + "\n" for case in cases.values()),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    theirs = dict(zip(cases, map(json.loads, done.stdout.splitlines()), strict=True))
    if pytestconfig.getoption("rewrite"):
        RECORDED.write_text(json.dumps(theirs, indent=1) + "\n")
    assert {name: ours(case) for name, case in cases.items()} == theirs
