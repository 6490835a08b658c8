"""States of users and groups that their run would make: foretold on a fresh root, then done there, and compared.

Each pair of tests/minion/engine/test_foretold.py has a root of its own.
"""

import importlib.util
import os
import shutil
from pathlib import Path

import pytest
from fresh_roots import in_fresh_root

pytestmark = [
    pytest.mark.fresh_root,
    pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="makes roots: needs root"),
]

HERE = Path(__file__).parents[2]
MODULE = HERE / "tests/minion/engine/test_foretold.py"


def names():
    """Of the pairs, without the module's imports."""
    body = MODULE.read_text().partition("OF_A_USER: dict[str, list[Low]] = {")[2].partition("\n}\n")[0]
    return [line.split('"')[1] for line in body.splitlines() if line.startswith('    "')]


def foretold_and_done(name: str) -> str:
    """Run the test of one pair; an error when it fails."""
    os.environ["SALTERN_FRESH_ROOT"] = "1"
    spec = importlib.util.spec_from_file_location("test_foretold", MODULE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    top = Path("/tmp/top")
    top.mkdir()
    try:
        module.test_states_of_a_user_and_a_group_that_the_run_would_make(top, name)
    except pytest.skip.Exception:
        return ""
    return ""


@pytest.mark.parametrize("name", names())
def test_what_is_foretold_of_a_user_is_what_is_done(tmp_path, name):
    assert in_fresh_root(tmp_path, foretold_and_done, name) == ""
