"""test=True of a run that has the same state twice, then the run itself, for each state function in a fresh root."""

import os
import shutil

import pytest
from effort import steps
from fresh_roots import in_fresh_root
from predictions import differences

from tools.docs.cases.case import fits_a_root
from tools.docs.state_cases import CASES
from tools.docs.states_table import installed

pytestmark = [
    pytest.mark.fresh_root,
    pytest.mark.timeout(600),
    pytest.mark.skipif(os.geteuid() != 0 or shutil.which("apt-get") is None, reason="needs root and apt"),
]


MOST = {"pkg": 4}
"""Cases of a module in the ordinary suite: each takes apt some ten seconds."""


def wrong_predictions(module: str) -> str:
    """What is foretold of the states of a module and not done, a line each."""
    cases = [case for case in CASES if case.fun.partition(".")[0] == module and fits_a_root(case)]
    cases = [*steps(cases, MOST.get(module, len(cases)))]
    with installed(sorted({one for case in cases for one in case.needs})):
        return "\n".join(f"{case.fun}: {one}" for case in cases for one in differences(case))


@pytest.mark.parametrize("module", sorted({case.fun.partition(".")[0] for case in CASES if fits_a_root(case)}))
def test_what_is_foretold_is_what_is_done(tmp_path, module):
    assert in_fresh_root(tmp_path, wrong_predictions, module) == ""
