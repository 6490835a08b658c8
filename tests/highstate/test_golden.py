"""The language as text: each tests/golden/*.txtar is compiled and compared. `--rewrite` writes what came out."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from highstate.compile import CompileOptions, compile_minion, compile_sls
from highstate.files import MemoryFiles
from highstate.types import Minion

GOLDEN = Path(__file__).parent.parent / "golden"


def _archive():
    """tests/golden/archive.py, which is no part of a package."""
    spec = importlib.util.spec_from_file_location("golden_archive", GOLDEN / "archive.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


archive = _archive()
CASES = archive.read_cases(GOLDEN)


def compile_case(case):
    files, pillar_files = MemoryFiles(case.trees("states")), MemoryFiles(case.trees("pillar"))
    minion = Minion(id=case.minion, grains=case.grains)
    settings = CompileOptions(**{key: tuple(v) if isinstance(v, list) else v for key, v in case.settings.items()})
    if case.sls:
        return compile_sls(files, pillar_files, minion, settings, case.sls, pillar_override=case.override)
    return compile_minion(files, pillar_files, minion, settings)


def outcome(compiled):
    """The section that a golden holds for this result, and its text."""
    if compiled.errors:
        return "errors", "\n".join(str(problem) for problem in compiled.errors) + "\n"
    chunks = json.loads(json.dumps([chunk.as_salt() for chunk in compiled.lowstate], default=str))
    return "lowstate.yaml", archive.dump_lowstate(chunks)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden(case, pytestconfig):
    section, text = outcome(compile_case(case))
    if pytestconfig.getoption("rewrite"):
        if section == "errors" or case.lowstate != archive.yaml.safe_load(text):
            case.expecting(section, text).write()
        return
    if section == "lowstate.yaml" and case.lowstate is not None:
        assert archive.yaml.safe_load(text) == case.lowstate
    else:
        assert text == case.sections.get(section, "(the golden expects something else)")


def test_each_rule_of_the_language_has_its_case():
    named = {case.name for case in CASES}
    rules = archive.yaml.safe_load((GOLDEN / "rules.yaml").read_text())
    shown = [case for section in rules.values() for cases in section.values() for case in cases]
    assert len(shown) > 170
    assert {one for one in shown if "::" not in one} == named
    for file, _, test in (one.partition("::") for one in shown if "::" in one):
        assert f"def {test}(" in (Path(__file__).parent / "render" / file).read_text()
