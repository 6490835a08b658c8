"""Options of Salt's programs that the verbs of Saltern do not have, and why.

Called for the hint to an option that a verb does not know, and by the programs with Salt's names, which take these
options and tell the reason. Imports nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

WITHOUT_MEANING: Mapping[str, tuple[bool, str]] = {
    "--saltfile": (True, "there is no Saltfile; put options into the configuration"),
    "--hard-crash": (False, "an error of the program is shown as a line"),
    "--module-executors": (True, "functions have no executors; `sudo_user` is none of the minion's options"),
    "--executor-opts": (True, "functions have no executors"),
    "--start-event": (False, "`saltern jobs show JID` says who has begun; the event saltern/run/RUN/progress is sent"),
    "--enable-profiling": (False, "nothing is profiled; `salt-call --profile` shows where the time of states goes"),
    "--profiling-path": (True, "nothing is profiled"),
    "--hosts": (False, "there are no rosters; `saltern minions` lists who is known"),
    "-H": (False, "there are no rosters; `saltern minions` lists who is known"),
    "--user": (True, "the program runs as who starts it"),
    "-u": (True, "the program runs as who starts it"),
    "--priv": (True, "the program runs as who starts it; of salt-key: nothing is signed"),
    "--proxyid": (True, "there are no proxy minions"),
    "--resources": (False, "minions manage no resources"),
    "--tgt": (True, "minions manage no resources"),
    "--tgt-type": (True, "minions manage no resources"),
    "--master": (True, "functions of this machine ask the controller of its agent"),
    "--set-metadata": (True, "functions of this machine are no jobs"),
    "--jid": (True, "the controller gives a job its id"),
    "--gen-signature": (False, "the controller's key is checked by each minion, and nothing is signed with it"),
    "--auto-create": (False, "nothing is signed"),
    "--signature-path": (True, "nothing is signed"),
    "--pub": (True, "nothing is signed"),
}
"""Option -> whether a value follows it, and what to tell."""
_VERBS = frozenset(("call", "cp", "key", "run", "runner"))
"""Those that are one of Salt's programs."""
_OTHERWISE: Mapping[str, str] = {
    **dict.fromkeys(
        ("--log-level", "-l"), "commands write no log; `log_level` is an option of the controller and of minions"
    ),
    **dict.fromkeys(
        ("--log-file", "--log-file-level"), "commands write no log, and services write theirs to the journal"
    ),
    **dict.fromkeys(("--versions-report", "-V"), "`saltern --version` shows the version"),
    "--config-dump": "docs/configuration.md has the options, and the files of the configuration what is set",
    "--no-parse": "write a value that YAML would change in quotes: name='\"1.10\"'",
    "--args-stdin": "`xargs` gives lines of standard input as arguments",
    **dict.fromkeys(("--force-color", "--force-colour"), "colours are for terminals"),
    "--gather-job-timeout": "nobody is asked whether a job goes on: `saltern jobs show JID` knows",
}
"""Options that mean something, and what does it here."""


def reason_for(verb: str, option: str) -> str:
    """Why a verb does not have an option that one of Salt's programs has; empty where there is no such reason."""
    if verb not in _VERBS:
        return ""
    if option in _OTHERWISE:
        return _OTHERWISE[option]
    return f"it means nothing here: {WITHOUT_MEANING[option][1]}" if option in WITHOUT_MEANING else ""
