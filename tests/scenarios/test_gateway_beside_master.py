"""Trees on a stock minion under a real salt-master and under the gateway: the same results, state by state.

`make beside-master` does more of it (tools/oracle/beside_master); here are those of its cases that say most.
"""

import pytest
from effort import soak
from stock_minions import salt_venvs

from tools.oracle.beside_master.__main__ import two_sides
from tools.oracle.beside_master.cases import own_cases
from tools.oracle.beside_master.comparison import TwoSides, text

VENVS = salt_venvs()
pytestmark = [
    soak,
    pytest.mark.alone,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not VENVS, reason="SALT_MINION_VENVS names no virtualenv with salt-minion"),
]
CASES = {"requisites": 20, "options": 20, "files": 14, "pillar": 4}
"""Case -> states that Salt's run has at least."""


@pytest.fixture(scope="module", params=sorted(VENVS))
def sides(request):
    with two_sides(VENVS[request.param]) as found:
        yield found


@pytest.mark.parametrize("name", CASES)
def test_results_and_files_are_those_of_a_master(sides: TwoSides, name):
    [case] = own_cases([name])
    outcome = sides.compare(case)
    assert outcome.states >= CASES[name]
    assert [text(one) for one in outcome.unexplained] == []
