import io
import json
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from minion.call.call import main
from minion.call.options import CallOptions
from minion.execution import Context, Modules
from minion.modules.saltcheck.assertions import ASSERTIONS

QUICKSTART = Path(__file__).parents[3] / "examples" / "quickstart"
COUNTS = ("Passed", "Failed", "Skipped", "Missing Tests")


class Tree:
    """Folders of states, looked at by `saltern call --local`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.write("conf/minion", f"id: web1\nroot_dir: {path}/root\n")
        (path / "pillar").mkdir()
        self.code = 0
        self.log = ""

    def write(self, path: str, text: str) -> None:
        place = self.path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def state(self, path: str, text: str) -> None:
        self.write(f"states/{path}", text)

    def call(self, fun: str, *words: str) -> Any:
        out, err = io.StringIO(), io.StringIO()
        roots: Any = {"file_root": (str(self.path / "states"),), "pillar_root": (str(self.path / "pillar"),)}
        options = CallOptions(fun=fun, args=words, local=True, config_dir=self.path / "conf", out="json", **roots)
        self.code = main(options, out, err)
        self.log = err.getvalue()
        return json.loads(out.getvalue())["local"] if out.getvalue() else None


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


PING = "{module_and_function: test.ping, assertion: assertTrue}"


def names(ran: list[Any]) -> dict[str, list[str]]:
    return {sls: list(tests) for one in ran[:-1] for sls, tests in one.items()}


def counts(ran: list[Any]) -> list[int]:
    return [ran[-1]["TEST RESULTS"][name] for name in COUNTS]


def one(test: Any) -> Any:
    result = Modules(Context(minion_id="web1")).call("saltcheck.run_test", (), {"test": test})
    return result if isinstance(result, str) else {key: value for key, value in result.items() if key != "duration"}


def echoed(assertion: str, returned: Any, expected: Any = None, **more: Any) -> Any:
    test = {"module_and_function": "test.echo", "args": [returned], "assertion": assertion, **more}
    return one(test if expected is None else {**test, "expected_return": expected})["status"]


@pytest.mark.parametrize(
    ("assertion", "returned", "expected", "status"),
    [  # as Salt 3008.3 says it
        ("assertEqual", "x", "x", "Pass"),
        ("assertEqual", "x", "y", "Fail: y is not equal to x"),
        ("assertEqual", 6, "6", "Pass"),
        ("assertEqual", False, "False", "Pass"),
        ("assertNotEqual", "x", "x", "Fail: x is equal to x"),
        ("assertTrue", True, None, "Pass"),
        ("assertTrue", "hey", None, "Fail: hey not True"),
        ("assertFalse", False, None, "Pass"),
        ("assertFalse", "hey", None, "Fail: True not False"),
        ("assertIn", "abc", "b", "Pass"),
        ("assertIn", ["a"], "b", "Fail: b not found in ['a']"),
        ("assertNotIn", "abc", "b", "Fail: b was found in abc"),
        ("assertGreater", 4, 5, "Pass"),
        ("assertGreater", 5, 4, "Fail: 5 not False"),
        ("assertGreaterEqual", 5, 4, "Fail: 5 not False"),
        ("assertLess", 5, "4", "Pass"),
        ("assertLessEqual", 5, 5, "Pass"),
        ("assertLessEqual", 5, 6, "Fail: 5 not False"),
        ("assertEmpty", "", None, "Pass"),
        ("assertEmpty", [1], None, "Fail: [1] is not empty"),
        ("assertNotEmpty", "", None, "Fail: value is empty"),
        ("assertNotEmpty", "x", None, "Pass"),
    ],
)
def test_assertions(assertion: str, returned: Any, expected: Any, status: str) -> None:
    assert echoed(assertion, returned, expected) == status


def test_a_failure_can_be_said_without_the_values() -> None:
    said = {
        name: echoed(name, "x", "x" if name in ("assertNotEqual", "assertNotIn") else "y", print_result=False)
        for name in ("assertEqual", "assertNotEqual", "assertIn", "assertNotIn")
    }
    assert list(said.values()) == [
        "Fail: Result is not equal", "Fail: Result is equal", "Fail: Result not found", "Fail: Result was found",
    ]  # fmt: skip


def test_values_that_cannot_be_compared_fail() -> None:
    assert echoed("assertIn", 5, 5).startswith("Fail: ")


def test_several_assertions_on_parts_of_one_value() -> None:
    test = {
        "module_and_function": "test.arg",
        "args": [1],
        "kwargs": {"k": {"deep": [5, 6]}},
        "assertions": [
            {"assertion": "assertEqual", "assertion_section": "kwargs:k:deep:1", "expected_return": "6"},
            {"assertion": "assertEmpty", "assertion_section": "kwargs|no", "assertion_section_delimiter": "|"},
            {"assertion": "assertGreater", "assertion_section": "kwargs:k:deep:0", "expected_return": 4},
        ],
        "output_details": True,
    }
    call = "module.function [args] assertion_section"
    assert one(test) == {
        "assertion1": {"status": "Pass", call: "test.arg [1] kwargs:k:deep:1", "saltcheck assertion": "6 == 6"},
        "assertion2": {"status": "Pass", call: "test.arg [1] kwargs|no", "saltcheck assertion": "IS EMPTY False"},
        "assertion3": {
            "status": "Fail: 5 not False",
            call: "test.arg [1] kwargs:k:deep:0",
            "saltcheck assertion": "4 > 5",
        },
        "status": "Fail",
    }


def test_details_hide_the_value_as_print_result_says() -> None:
    test = {"module_and_function": "test.echo", "args": ["x"], "assertion": "assertEqual", "expected_return": "x"}
    assert one({**test, "output_details": True, "print_result": False}) == {
        "status": "Pass",
        "module.function [args]": 'test.echo ["x"]',
        "saltcheck assertion": "x == hidden",
    }


@pytest.mark.parametrize(
    "test",
    [
        {"module_and_function": "test.ping", "assertion": "assertWhatever"},
        {"module_and_function": "test.ping"},
        {"module_and_function": "test.nosuch", "assertion": "assertTrue"},
        {"module_and_function": "nothing", "assertion": "assertTrue"},
        {"assertion": "assertTrue"},
        {"module_and_function": "test.ping", "assertion": "assertEqual"},
        {"module_and_function": "test.ping", "assertions": "assertTrue"},
        {"module_and_function": "test.ping", "assertions": [{"assertion": "nope"}, {"assertion": "assertTrue"}]},
        {"module_and_function": "test.echo", "args": "text", "assertion": "assertTrue"},
        {"module_and_function": "test.ping", "assertion": "assertTrue", "kwargs": [1]},
        {"module_and_function": "test.ping", "assertion": "assertTrue", "pillar_data": [1]},
        {"module_and_function": "saltcheck.run_state_tests", "args": ["web"], "assertion": "assertTrue"},
    ],
)
def test_what_is_no_test_fails(test: Any) -> None:
    assert one(test) == {"status": "Fail - invalid test"}


def test_a_call_without_a_test_says_so() -> None:
    assert one("text") == one(None) == "Test argument must be a dictionary"


def test_a_function_that_fails_is_a_failed_test() -> None:
    said = one({"module_and_function": "test.exception", "args": ["oh no"], "assertion": "assertTrue"})["status"]
    assert said == "Fail: oh no"


def test_every_assertion_of_salt_is_there() -> None:
    wanted = "Equal NotEqual True False In NotIn Greater GreaterEqual Less LessEqual Empty NotEmpty"
    assert list(ASSERTIONS) == [f"assert{name}" for name in wanted.split()]


def test_tests_of_an_sls_and_of_those_that_it_includes(tree: Tree) -> None:
    tree.state("web/init.sls", "include: [web.conf]\na:\n  test.nop: []\n")
    tree.state("web/conf.sls", "b:\n  test.nop: []\n")
    tree.state(
        "web/saltcheck-tests/init.tst",
        "{% for word in ['a', 'b'] %}\necho_{{ word }}_{{ grains['id'] }}:\n  module_and_function: test.echo\n"
        "  args: [{{ word }}]\n  assertion: assertEqual\n  expected_return: {{ word }}\n{% endfor %}\n",
    )
    tree.state(
        "web/saltcheck-tests/conf.tst",
        "wrong: {module_and_function: test.false, assertion: assertTrue}\n"
        "later: {module_and_function: test.false, assertion: assertTrue, skip: true}\n",
    )
    tree.state("web/saltcheck-tests/other.tst", f"other: {PING}\n")
    tree.state("bare.sls", "c:\n  test.nop: []\n")
    tree.state("top.sls", "base:\n  '*': [web, web.conf, bare]\n")

    ran = tree.call("saltcheck.run_state_tests", "web")
    assert names(ran) == {"web": ["wrong", "later", "echo_a_web1", "echo_b_web1"]}
    assert (counts(ran), tree.code) == ([2, 1, 1, 0], 1)
    assert ran[0]["web"]["later"] == {"status": "Skip", "duration": 0.0}

    ran = tree.call("saltcheck.run_state_tests", "web", "check_all=True")
    assert (set(names(ran)["web"]), counts(ran)) == (
        {"wrong", "later", "echo_a_web1", "echo_b_web1", "other"},
        [3, 1, 1, 0],
    )

    assert names(tree.call("saltcheck.run_state_tests", "web.other")) == {"web.other": ["other"]}
    assert tree.code == 0

    ran = tree.call("saltcheck.run_highstate_tests", "only_fails=True")  # those of web.conf are run with web
    assert (names(ran), counts(ran), tree.code) == ({"web": ["wrong"]}, [2, 1, 1, 1], 1)

    assert tree.call("saltcheck.report_highstate_tests") == {
        "TEST REPORT RESULTS": {
            "Missing Tests": 1,
            "States missing tests": ["bare"],
            "States with tests": ["web.conf", "web"],
        }
    }
    assert tree.code == 1


def test_places_of_tests(tree: Tree) -> None:
    tree.state("bare.sls", "a:\n  test.nop: []\n")
    tree.state("saltcheck-tests/bare.tst", f"top: {PING}\n")
    tree.state("twin/init.sls", "b:\n  test.nop: []\n")
    tree.state("twin/saltcheck-tests/twin.tst", f"twin: {PING}\n")
    tree.state("deep/a/b.sls", "c:\n  test.nop: []\n")
    tree.state("deep/saltcheck-tests/a/b.tst", f"deep: {PING}\n")
    ran = tree.call("saltcheck.run_state_tests", "bare,twin,deep.a.b,nosuch")
    assert names(ran) == {"bare": ["top"], "deep.a.b": ["deep"], "nosuch": [], "twin": ["twin"]}
    assert (counts(ran), tree.code) == ([3, 0, 0, 1], 0)


def test_options_of_the_minion(tree: Tree) -> None:
    with (tree.path / "conf/minion").open("a") as file:
        file.write("saltcheck_test_location: tests/check\nsaltcheck_output_details: true\n")
    tree.state("web/init.sls", "a:\n  test.nop: []\n")
    tree.state("web/tests/check/init.tst", f"up: {PING}\n")
    ran = tree.call("saltcheck.run_state_tests", "web")
    assert ran[0]["web"]["up"]["saltcheck assertion"] == "True is True"
    assert "unknown option" not in tree.log


def test_a_state_prepares_what_tests_look_at(tree: Tree) -> None:
    place = tree.path / "made"
    tree.state("setup.sls", f"{place}:\n  file.managed:\n    - contents: {{{{ pillar['word'] }}}}\n")
    tree.state(
        "web/saltcheck-tests/init.tst",
        "prepare: {module_and_function: saltcheck.state_apply, args: [setup], pillar-data: {word: hello}}\n"
        f"look: {{module_and_function: file.read, args: [{place}], assertion: assertIn, expected_return: hello}}\n",
    )
    ran = tree.call("saltcheck.run_state_tests", "web")
    assert (counts(ran), place.read_text()) == ([2, 0, 0, 0], "hello\n")


def test_a_file_that_holds_no_tests_is_named(tree: Tree) -> None:
    tree.state("web/saltcheck-tests/init.tst", "- no\n- mapping\n")
    tree.call("saltcheck.run_state_tests", "web")
    assert "salt://web/saltcheck-tests/init.tst: tests are a mapping of their names, not list" in tree.log


def test_results_for_junit(tree: Tree) -> None:
    tree.state(
        "web/saltcheck-tests/init.tst",
        f"b_up: {PING}\n"
        'a_not: {module_and_function: test.echo, args: ["<\\e>"], assertion: assertEqual, expected_return: "x"}\n'
        "c_later: {module_and_function: test.ping, assertion: assertTrue, skip: true}\n",
    )
    text = tree.call("saltcheck.run_state_tests", "web,nosuch", "junit=True")
    suites = ET.fromstring(text)
    suite = suites[0]
    assert {key: suite.get(key) for key in ("failures", "name", "skipped", "tests")} == {
        "failures": "1", "name": "test_results", "skipped": "1", "tests": "4",
    }  # fmt: skip
    assert [case.get("name") for case in suite] == ["a_not", "b_up", "c_later", "missing_test"]
    assert suite[0][0].attrib == {"type": "failure", "message": "Fail: x is not equal to <?>"}
    assert (suite[2][0].tag, suite[3][0].text, tree.code) == ("skipped", "Test(s) Missing", 1)


def test_the_example_fails_before_its_states_are_applied_and_passes_then(tree: Tree) -> None:
    for folder in ("states", "pillar"):
        shutil.copytree(QUICKSTART / folder, tree.path / folder, dirs_exist_ok=True)
    tree.write("conf/grains", f"root: {tree.path}/machine\n")
    assert counts(tree.call("saltcheck.run_state_tests", "common")) == [0, 3, 0, 0]
    assert tree.code == 1
    tree.call("state.apply", "common")
    assert counts(tree.call("saltcheck.run_state_tests", "common")) == [3, 0, 0, 0]
    assert tree.code == 0
