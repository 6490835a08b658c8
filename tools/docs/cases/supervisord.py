"""Cases of the states of supervisord: a program of a daemon of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools.docs.cases.case import BESIDE, SERVED, Case, serving

_CONF = (
    "[unix_http_server]\nfile={top}/../sock\n[supervisord]\nnodaemon=true\nlogfile={top}/../log\n"
    "pidfile={top}/../pid\nchildlogdir={top}/..\n[rpcinterface:supervisor]\n"
    "supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface\n"
    "[supervisorctl]\nserverurl=unix://{top}/../sock\n"
)


def _case(fun: str, autostart: str, added: str = "", **arguments: Any) -> Case:
    program = f"[program:case]\ncommand=sleep 600\nautostart={autostart}\nstartsecs=0\n"
    return Case(
        acts_always="update" in arguments,
        fun=f"supervisord.{fun}",
        name="case",
        arguments={**arguments, "conf_file": "{top}/conf"},
        files={"conf": _CONF + ("" if added else program)},
        before=(
            serving("supervisord -c {top}/conf", f"test -S {BESIDE}/sock"),
            *([f"printf '{added}' >>{{top}}/conf"] if added else []),
        ),
        after=("supervisorctl -c {top}/conf stop all", SERVED),
        needs=("supervisor",),
    )


CASES: tuple[Case, ...] = (
    _case("running", "false"),
    _case("running", "true", "[program:case]\ncommand=sleep 600\nautostart=false\nstartsecs=0\n", update=True),
    _case("dead", "true"),
)
WITHOUT: Mapping[str, str] = {}
