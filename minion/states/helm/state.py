"""The state module `helm`.

Behaviour: the states of saltext-helm 1.0.0.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.machine.plan import StateFunction
from minion.states.helm import release, repository

STATES: Mapping[str, StateFunction] = {
    "release_absent": release.release_absent,
    "release_present": release.release_present,
    "repo_managed": repository.repo_managed,
    "repo_updated": repository.repo_updated,
}
