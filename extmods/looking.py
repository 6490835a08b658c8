"""What may be called on a minion in shadow: functions that look at the machine, or at what its agent knows.

`only_looks` is the rule on both sides: the controller calls nothing else there, and a gateway publishes nothing else.

Source: what each of these functions does, in Salt's execution modules of the same names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from extmods.fact_answers import LOOKERS

_NAMES = """
    config.dot_vals config.get config.option
    cp.hash_file cp.list_master cp.list_master_dirs cp.list_states
    grains.equals grains.fetch grains.get grains.has_value grains.item grains.items grains.ls
    match.compound match.glob match.grain match.list match.pcre mine.get
    pillar.get pillar.item pillar.items pillar.keys pillar.ls pillar.obfuscate pillar.raw
    pkg.list_repos pkg.owner pkg.file_list
    saltutil.find_job saltutil.running
    schedule.is_enabled schedule.list beacons.list
    status.all_status status.diskstats status.diskusage status.loadavg status.netstats status.pid status.procs
    status.vmstats status.w
    sys.argspec sys.doc sys.list_state_functions sys.list_state_modules sys.returner_doc sys.runner_doc
    sys.state_argspec sys.state_doc
    test.arg test.arg_repr test.arg_type test.echo test.false test.fib test.get_opts test.kwarg test.module_report
    test.not_loaded test.opts_pkg test.outputter test.ping test.provider test.providers test.sleep test.true
    test.versions
"""
_LOOKS = LOOKERS | frozenset(_NAMES.split())
_SHOWN = "state.show_"
_RUNS = frozenset(("state.apply", "state.highstate", "state.single", "state.sls", "state.sls_id", "state.top"))


def only_looks(fun: str, kwargs: Mapping[str, Any]) -> bool:
    """Whether a call changes nothing: a function that looks, what the compile shows, or states with test=True.

    States with test=True run the code of state modules, which by Salt's contract say what they would do, no more.

    Args:
        fun: as `grains.items`.
        kwargs: its named arguments.
    """
    if fun in _RUNS:
        return kwargs.get("test") is True
    return fun in _LOOKS or fun.startswith(_SHOWN) or fun == "state.test"
