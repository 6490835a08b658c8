"""docs/security.md is held by tests: each that it names is there, and each attack of its table has a verdict."""

from __future__ import annotations

import ast
import re

import pytest

from tools.docs.limits_table import PAGE

ATTACKS = [f"A{number}" for number in range(1, 37)]
VERDICTS = ("held in part", "held", "no such surface")
_TEST = re.compile(r"[\w/]+\.py::test_\w+")
_NAMED = re.compile(r"`([^`]*\.py[^`]*)`")


@pytest.fixture(scope="module")
def page(pages):
    return pages["docs/security.md"]


@pytest.fixture(scope="module")
def attacks(page, rows):
    """Number, attack, CVE, verdict, tests."""
    return rows(page.section("Known attacks on Salt"))


def test_every_attack_has_a_verdict(attacks):
    assert [row[0] for row in attacks] == ATTACKS
    for number, attack, cves, verdict, tests in attacks:
        assert attack, number
        assert all(re.fullmatch(r"CVE-\d{4}-\d{4,7}", cve) for cve in cves.split(", ") if cve), number
        assert verdict.startswith(VERDICTS), number
        assert verdict == "held" or ". " in verdict, f"{number}: say what is not held, or what there is not"
        assert _TEST.search(tests) or verdict.startswith("no such surface"), f"{number}: nothing proves it"


def test_every_attack_on_a_gateway_has_a_verdict(page, rows):
    table = rows(page.section("Known attacks on a gateway"))
    assert [row[0] for row in table] == [f"G{number}" for number in range(1, len(table) + 1)]
    for number, attack, cves, verdict, tests in table:
        assert attack, number
        assert all(re.fullmatch(r"CVE-\d{4}-\d{4,7}", cve) for cve in cves.split(", ") if cve), number
        assert verdict.startswith(VERDICTS), number
        assert verdict == "held" or ". " in verdict, f"{number}: say what is not held"
        assert _TEST.search(tests), f"{number}: nothing proves it"


def test_every_test_that_is_named_is_there(page, root):
    named = [name for name in _NAMED.findall(page.text) if "::" in name]
    assert len(named) > 100
    assert [name for name in named if not _TEST.fullmatch(name)] == []
    functions = {}
    missing = []
    for name in named:
        path, _, function = name.partition("::")
        if path not in functions:
            file = root / "tests" / path
            text = file.read_text() if file.is_file() else ""
            nodes = ast.walk(ast.parse(text))
            functions[path] = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        if function not in functions[path]:
            missing.append(name)
    assert missing == []


def test_every_threat_has_its_test(page, rows):
    """Or the page says that nothing stops it. That the tests are there, the test above looks at."""
    table = rows(page.section("Threats at a glance"))
    assert len(table) > 30
    for _, attempt, stopped_by, tests in table:
        assert attempt
        assert _TEST.search(tests) or stopped_by.startswith("nothing:"), attempt
    attackers = " ".join(row[0].lower() for row in table)
    wanted = ("stranger", "minion", "branch", "git server", "forge", "role", "token", "backup", "key")
    assert [word for word in wanted if word not in attackers] == []


def test_every_actor_is_described_alike(page):
    """What it reaches, what holds it, which tests prove it, what is left; whoever is trusted has no more to lose."""
    parts = re.split(r"^### ", page.section("Actors"), flags=re.MULTILINE)[1:]
    assert len(parts) >= 9
    for part in parts:
        title, _, text = part.partition("\n")
        assert [word for word in ("*Reaches*:", "*What holds it*:", "*Tests*:") if word not in text] == [], title


def test_the_network_reaches_what_is_written(page, coded):
    routes = {one for one in coded(page.section("The HTTP port")) if one.startswith(("GET /", "POST /"))}
    assert routes == {"GET /healthz", "GET /leader", "GET /metrics", "GET /previews/ID", "GET /events", "POST /hook"}
    assert page.path == PAGE
