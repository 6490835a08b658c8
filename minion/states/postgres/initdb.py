"""The state module `postgres_initdb`: data directories.

Behaviour: doc/ref/states/all/salt.states.postgres_initdb.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.machine.plan import Change, Plan, Reader, StateFunction
from minion.providers.postgres.clusters import DatadirOptions, check_datadir_options, has_datadir, make_datadir


def present(machine: Reader, name: str, *, options: DatadirOptions) -> Plan:
    """The directory `name` holds the data of a server; nothing is compared with one that does already.

    `user` and `password` are those of the server's superuser; `runas` is the user of the system who owns the directory.
    """
    if has_datadir(machine, name):
        return Plan(comment=f"Postgres data directory {name} is already present")
    check_datadir_options(machine, options)
    return Plan(
        changes=(Change(key=name, reported="Present", act=lambda machine: make_datadir(machine, name, options)),),
        pending=f"Postgres data directory {name} is set to be initialized",
        done=f"Postgres data directory {name} has been initialized",
    )


STATES: Mapping[str, StateFunction] = {"present": present}
