"""Lint of orchestrations: steps where no minion may have them, what they take, whom and what they call."""

import pytest

from highstate.files import MemoryFiles
from highstate.lint import SAMPLES, CallableNames, KnownStates, LintTrees, Signature, lint_trees
from highstate.lint.functions import with_own_modules

ANY = Signature(takes_anything=True)
KNOWN = KnownStates(
    ours={"test.nop": ANY},
    steps={
        "salt.state": Signature(arguments=frozenset(("tgt", "sls", "saltenv")), required=frozenset(("tgt",))),
        "salt.function": Signature(arguments=frozenset(("tgt", "fail_function")), required=frozenset(("tgt",))),
        "salt.runner": ANY,
        "salt.wheel": ANY,
        "salt.parallel_runners": Signature(arguments=frozenset(("runners",))),
    },
    functions=CallableNames(
        names={
            "execution": frozenset(("test.ping", "service.restart", "service.reload")),
            "runner": frozenset(("manage.up", "jobs.list_jobs")),
            "wheel": frozenset(("key.accept",)),
        },
        not_built={"runner": {"ssh.cmd": "there is no salt-ssh; use salt.execute"}},
    ),
)


def lint(files):
    tree = MemoryFiles({"base": {path: text.encode() for path, text in files.items()}})
    found = lint_trees(LintTrees(files=tree, pillar_files=MemoryFiles({})), SAMPLES, KNOWN)
    return [(one.file, one.line, one.rule, one.message, one.hint) for one in found]


def of_orchestration(text):
    return [rest for file, *rest in lint({"top.sls": "base:\n  '*': [web]\n", "web.sls": WEB, "orch/a.sls": text})]


WEB = "web:\n  test.nop: []\n"
STEP = "go:\n  salt.state:\n    - tgt: '*'\n    - sls: web\n"


def test_a_step_in_a_highstate_is_an_error_with_its_line():
    [found] = lint({"top.sls": "base:\n  '*': [web]\n", "web.sls": WEB + STEP})
    assert found[:4] == (
        "web.sls",
        4,
        "orchestration-step",
        "salt.state is a step of an orchestration: it fails in the highstate of a minion",
    )
    assert "state.orchestrate" in found[4]


def test_an_included_sls_counts_as_highstate_wherever_it_lies():
    states = {"top.sls": "base:\n  '*': [web]\n", "web.sls": "include: [orch.a]\n" + WEB, "orch/a.sls": STEP}
    assert [found[:3] for found in lint(states)] == [("orch/a.sls", 2, "orchestration-step")]


@pytest.mark.parametrize("path", ["orch/a.sls", "orchestration/a.sls", "deploy.sls"])
def test_an_orchestration_is_neither_wrong_nor_unused(path):
    assert lint({"top.sls": "base:\n  '*': [web]\n", "web.sls": WEB, path: STEP}) == []


@pytest.mark.parametrize(
    ("text", "line", "rule", "message", "hint"),
    [
        ("a:\n  salt.stat:\n    - tgt: x\n", 2, "unknown-state", "there is no step salt.stat", "salt.state"),
        (STEP + "    - tgtt: x\n", 5, "unknown-argument", "salt.state takes no argument 'tgtt'", "did you mean tgt"),
        ("a:\n  salt.state:\n    - sls: web\n", 2, "missing-argument", "needs the argument 'tgt'", ""),
        ("a:\n  salt.state:\n    - tgt: ''\n    - sls: web\n", 3, "no-target", "names no minion", "pattern"),
        (STEP.replace("web", "wep"), 4, "missing-sls", "there is no SLS 'wep'", "did you mean web"),
        (
            "a:\n  salt.function:\n    - name: test.pingg\n    - tgt: x\n",
            3,
            "unknown-function",
            "there is no function test.pingg",
            "did you mean test.ping",
        ),
        ("service.restrt:\n  salt.function:\n    - tgt: x\n", 2, "unknown-function", "service.restrt", "restart"),
        ("a:\n  salt.function:\n    - name: tset.x\n    - tgt: x\n", 3, "unknown-function", "tset.x", "mean test"),
        ("a:\n  salt.runner:\n    - name: ssh.cmd\n", 3, "unknown-function", "a runner of Salt's", "salt.execute"),
        ("a:\n  salt.wheel:\n    - name: key.acept\n", 3, "unknown-function", "wheel function key.acept", "key.accept"),
        (
            "a:\n  salt.parallel_runners:\n    - runners:\n        x:\n          - name: manage.upp\n",
            2,
            "unknown-function",
            "there is no runner manage.upp",
            "manage.up",
        ),
    ],
)
def test_what_is_wrong_with_a_step(text, line, rule, message, hint):
    [found] = of_orchestration(text)
    assert found[:2] == [line, rule]
    assert message in found[2]
    assert hint in found[3]


def test_functions_of_the_tree_and_names_of_templates_are_not_judged():
    files = {
        "_modules/mine.py": "def go(): pass\n",
        "_runners/sub/x.py": "__virtualname__ = 'deploy'\n",
        "orch/a.sls": "a:\n  salt.function:\n    - name: mine.go\n    - tgt: x\n"
        "b:\n  salt.runner:\n    - name: deploy.go\n"
        "{{ nothing.at.all }}:\n  salt.function:\n    - name: {{ x }}\n    - tgt: {{ y }}\n",
    }
    assert [found[:3] for found in lint(files)] == [("orch/a.sls", 8, "render")]


def test_an_orchestration_that_does_not_render_is_read_as_far_as_it_goes():
    text = "{{ nothing.at.all }}\na:\n  salt.function:\n    - name: test.pingg\n    - tgt: x\n"
    assert [found[:2] for found in of_orchestration(text)] == [[1, "render"], [4, "unknown-function"]]


def test_nothing_is_said_of_kinds_that_are_not_known():
    known = with_own_modules(CallableNames(), MemoryFiles({"base": {}}))
    assert known.why_not("execution", "no.such") is None
