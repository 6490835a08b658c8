"""Cases of the states of rsync, monit, mails, XML documents and Augeas."""

from __future__ import annotations

from collections.abc import Mapping

from tools.docs.cases.case import SERVED, Case, serving

_RSYNC = ("rsync",)
_FILES = {"from/one": "1\n", "from/sub/two": "2\n", "to/old": "0\n", "to/one": "0\n"}
_FROM = "{top}/from/"
_XML_FILES = {
    "f": "<?xml version='1.0'?>\n<!-- kept -->\n<plays xmlns:x='urn:x'>\n  <play id='1'>Old</play><x:y/>\n</plays>\n"
}

_MONIT_CONF = (
    "set daemon 1\nset log {top}/../log\nset pidfile {top}/../pid\nset idfile {top}/../id\n"
    "set statefile {top}/../state\nset httpd unixsocket {top}/../sock\n  allow user:sesame\n"
    "check file case with path {top}/conf\n"
)
_NOT_MONITORED = "until monit -B status | grep -q 'Not monitored'; do sleep 0.1; done"


def _monit(fun: str, *commands: str) -> Case:
    """A case of a daemon that looks at one file."""
    return Case(
        fun=f"monit.{fun}",
        name="case",
        files={"conf": _MONIT_CONF, "bin/monit": '#!/bin/sh\nexec /usr/bin/monit -c {top}/conf "$@"\n'},
        before=(
            "chmod 700 {top}/conf && chmod 755 {top}/bin/monit",
            serving("monit -I", "monit -B status | grep -A2 case | grep -q OK"),
            *commands,
        ),
        after=(SERVED,),
        environment={"PATH": "{top}/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
        needs=("monit",),
    )


CASES: tuple[Case, ...] = (
    Case(fun="rsync.synchronized", name="{top}/to", arguments={"source": _FROM}, files=_FILES, needs=_RSYNC),
    Case(fun="rsync.synchronized", name="{top}/to", arguments={"source": _FROM, "delete": True, "exclude": "sub"},
         files=_FILES, needs=_RSYNC),
    Case(fun="rsync.synchronized", name="{top}/new/folder", arguments={"source": _FROM, "prepare": True}, files=_FILES,
         needs=_RSYNC),
    Case(fun="augeas.change", arguments={"context": "/files{top}/f", "lens": "Hosts.lns",
         "changes": ["set 1/canonical web", "set \"*[ipaddr='10.0.0.1']/alias\" db1", "rm #comment"]},
         files={"f": "127.0.0.1 localhost\n10.0.0.1\tdb\n# old\n"}, needs=("libaugeas0",)),
    Case(fun="syslog_ng.config", name="source.s_tail", arguments={"config": [{"file": ['"/var/log/x"']}]},
         restores=("/etc/syslog-ng/syslog-ng.conf",), needs=("syslog-ng-core",)),
    _monit("monitor", f"monit -B unmonitor case && {_NOT_MONITORED}"),
    _monit("unmonitor"),
    Case(fun="xml.value_present", arguments={"xpath": ".//play[@id='1']", "value": "A < B"}, files=_XML_FILES),
)  # fmt: skip
WITHOUT: Mapping[str, str] = {
    "slack.post_message": "tried on a workspace of the tests",
    **{f"cabal.{fun}": "tried on a repository of the tests" for fun in ("installed", "removed")},
    "syslog_ng.reloaded": "tried on a daemon of the tests",
    "syslog_ng.started": "tried on a daemon of the tests",
    "syslog_ng.stopped": "tried on a daemon of the tests",
    "smtp.send_msg": "tried on a mail server of the tests",
}  # fmt: skip
