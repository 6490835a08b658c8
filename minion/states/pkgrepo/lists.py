"""The lists of packages of a repository that was configured, and what a test run says of it.

Called by `minion.states.pkgrepo.state` and `minion.states.pkgrepo.rpm`.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.machine.plan import Machine, Value
from minion.providers.pkg.detection import package_manager

TEST_NOTE = (
    "This may cause pkg states to behave differently than stated if this action is repeated without test=True, due to "
    "the differences in the configured repositories."
)


def fetch_lists(machine: Machine, name: str) -> Mapping[str, Value]:
    """The lists of the new repository. A server that does not answer leaves it configured, and is named."""
    trouble = package_manager(machine).refresh(machine, older_than=None)
    if not trouble:
        return {}
    return {
        "__comment__": f"Configured package repo '{name}'\nThe lists of packages could not all be fetched:\n{trouble}"
    }
