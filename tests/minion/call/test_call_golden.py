"""`saltern call` prints what `salt-call` printed, and ends as it did: tests/golden/call, of tools/oracle/call.py."""

import json
import logging
import signal

import pytest
import yaml

from controller.cli.main import run
from tools.oracle.call import GOLDENS, place, settled, words_of

CASES = [
    pytest.param(golden["files"], case, id=f"{path.stem}: {case['name']}")
    for path in sorted(GOLDENS.glob("*.yaml"))
    for golden in [yaml.safe_load(path.read_text())]
    for case in golden["cases"]
]


@pytest.fixture(autouse=True)
def as_before():
    """What a process of its own may change, and this one may not."""
    handlers, level, on_term = logging.root.handlers[:], logging.root.level, signal.getsignal(signal.SIGTERM)
    yield
    for handler in logging.root.handlers:
        if handler not in handlers:
            handler.close()
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)
    signal.signal(signal.SIGTERM, on_term)


@pytest.mark.parametrize(("files", "case"), CASES)
def test_it_is_salts(files, case, tmp_path, capsys):
    place(tmp_path, files, case.get("files", {}))
    code = run(["call", "-c", str(tmp_path / "conf"), *words_of(case, tmp_path)])
    said = capsys.readouterr()
    assert code == case.get("code_here", case["code"]), said.err
    out = settled(said.out, tmp_path)
    if case.get("any_order"):
        assert json.loads(out) == json.loads(case["out"]), said.err
    elif "deviates" not in case:
        assert out == case["out"], said.err
    written = tmp_path / "written"
    if "written" in case:
        assert settled(written.read_text(), tmp_path) == case["written"]
