"""The state module `network`: interfaces, their routes, and the global settings.

Behaviour: doc/ref/states/all/salt.states.network.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.machine.plan import StateFunction
from minion.states.network.managed import managed
from minion.states.network.routes import routes
from minion.states.network.system import system

STATES: Mapping[str, StateFunction] = {"managed": managed, "routes": routes, "system": system}
