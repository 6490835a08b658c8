"""The execution module `apache`: what apache2ctl(8) tells and does, and what a2enmod(8) and its like switch.

Behaviour: doc/ref/modules/all/salt.modules.apache and salt.modules.deb_apache.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from minion.arguments.types import List
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.machine.configured import configured
from minion.machine.plan import Completed
from minion.providers.apache.configuration import configuration
from minion.providers.apache.switches import CONF, MODULE, SITE, ApacheSwitch, checked, control_program, program

_SIGNALS = ("start", "stop", "restart", "graceful", "graceful-stop")
_QUESTIONS = ("configtest", "status", "fullstatus")
_NAMED_HOST = re.compile(r"^(\S+)\s+is a NameVirtualHost")
_HOST = re.compile(r"^\s+(default server|port (?P<port>\S+) namevhost) (?P<host>\S+) \((?P<conf>[^)]*)\)")
_STATES_OF_WORKERS = "_SRWKDCLGI."


def version(context: Context) -> str:
    """The server's version: `Apache/2.4.62 (Debian)`."""
    return _told(context, "-v").partition("\n")[0].partition(": ")[2]


def fullversion(context: Context) -> dict[str, Any]:
    """What the server is and was compiled with, by name in small letters; switches are in `compiled_with`."""
    found: dict[str, Any] = {"compiled_with": []}
    for line in _told(context, "-V").splitlines():
        name, colon, value = line.partition(": ")
        if colon:
            found[name.strip().lower().replace(" ", "_")] = value.strip()
        elif line.startswith(" -D "):
            found["compiled_with"].append(line.removeprefix(" -D "))
    return found


def modules(context: Context) -> dict[str, list[str]]:
    """Modules that the server has, `static` and `shared`."""
    found: dict[str, list[str]] = {"static": [], "shared": []}
    for name, kind in re.findall(r"^\s*(\S+) \((static|shared)\)", _told(context, "-M"), re.MULTILINE):
        found[kind].append(name)
    return found


def servermods(context: Context) -> list[str]:
    """Source files of the modules that are compiled into the server."""
    return [line.strip() for line in _told(context, "-l").splitlines() if ".c" in line]


def directives(context: Context) -> dict[str, str]:
    """Directive → what it takes and where it may stand."""
    lines = _told(context, "-L").replace("\n\t", "\t").splitlines()
    return {name: "\n".join(more) for name, *more in (line.split("\t") for line in lines if line)}


def vhosts(context: Context) -> dict[str, dict[str, dict[str, str]]]:
    """Address → the hosts that are named there, with the file and line where each is written."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    address = ""
    for line in _told(context, "-S").splitlines():
        if named := _NAMED_HOST.match(line):
            address = named[1]
            found[address] = {}
        elif address and (host := _HOST.match(line)):
            told = {"vhost": host["host"], "conf": host["conf"]}
            if host["port"]:
                found[address][host["host"]] = {**told, "port": host["port"]}
            else:
                found[address]["default"] = told
    return found


def signal(context: Context, signal: str | None = None) -> str | None:
    """Start, stop or restart the server (`graceful`, `graceful-stop`), or ask it (`configtest`, `status`)."""
    if signal not in (*_SIGNALS, *_QUESTIONS):
        return None
    words = ["-k", signal] if signal in _SIGNALS else [signal]
    done = context.machine.run([control_program(), *words])
    context.retcode = done.returncode
    shown = f'Command: "{" ".join(["apache2ctl", *words])}" completed successfully!'
    return done.stderr.strip() or done.stdout.strip() or shown


def useradd(context: Context, pwfile: str, user: str, password: str, opts: str = "") -> dict[str, Any]:
    """Put a user into a file of htpasswd(1), or change the password. `opts`: letters of its options (`B`, `s`, `n`)."""
    new = "" if context.machine.stat(pwfile) is not None or "c" in opts else "c"
    done = context.machine.run([program("htpasswd"), f"-i{opts}{new}", pwfile, user], stdin=f"{password}\n")
    return _shown(context, done)


def userdel(context: Context, pwfile: str, user: str) -> list[str]:
    """Take a user out of a file of htpasswd(1); what the program says."""
    if context.machine.stat(pwfile) is None:
        raise CallFailed("Error: The specified htpasswd file does not exist")
    done = context.machine.run([program("htpasswd"), "-D", pwfile, user])
    context.retcode = done.returncode
    return f"{done.stdout}{done.stderr}".splitlines()


def server_status(context: Context, profile: str = "default") -> dict[str, Any]:
    """What the server's handler `server-status` tells, numbers as numbers.

    The configuration, grains or pillar give `url`, `user`, `pass` and `timeout` of a profile below
    `apache.server-status`.
    """
    given = configured(context.machine, "apache.server-status", None) or {}
    chosen = given.get(profile) or {}
    address = f"{chosen.get('url', 'http://localhost/server-status')}?auto"
    options = {"username": chosen.get("user"), "password": chosen.get("pass"), "timeout": chosen.get("timeout", 5)}
    answer = context.functions["http.query"](address, text=True, **options)
    if "error" in answer:
        raise CallFailed(f"{address}: {answer['error']}")
    found: dict[str, Any] = {"Scoreboard": dict.fromkeys(_STATES_OF_WORKERS, 0)}
    for line in str(answer.get("text") or answer.get("body") or "").splitlines():
        name, _, value = line.partition(":")
        if name == "Scoreboard":
            for letter in value.strip():
                found["Scoreboard"][letter] = found["Scoreboard"].get(letter, 0) + 1
        else:
            found[name.strip()] = _number(value.strip())
    return found


def config(context: Context, name: str, config: List, edit: bool = True) -> str:
    """The text that data stands for; with `edit` it is written to the file, too."""
    text = configuration(config)
    if edit:
        context.machine.write(name, f"# This file is managed by Saltern.\n{text}".encode())
    return text


def check_site_enabled(context: Context, site: str) -> bool:
    """Whether a site is on."""
    return bool(SITE.enabled_as(context.machine, checked(site)))


def a2ensite(context: Context, site: str) -> dict[str, Any]:
    """Switch a site on."""
    return _switch(context, SITE, site, on=True)


def a2dissite(context: Context, site: str) -> dict[str, Any]:
    """Switch a site off."""
    return _switch(context, SITE, site, on=False)


def check_mod_enabled(context: Context, mod: str) -> bool:
    """Whether a module is on."""
    return bool(MODULE.enabled_as(context.machine, checked(mod)))


def a2enmod(context: Context, mod: str) -> dict[str, Any]:
    """Switch a module on, and those that it depends on."""
    return _switch(context, MODULE, mod, on=True)


def a2dismod(context: Context, mod: str) -> dict[str, Any]:
    """Switch a module off."""
    return _switch(context, MODULE, mod, on=False)


def check_conf_enabled(context: Context, conf: str) -> bool:
    """Whether a configuration is on."""
    return bool(CONF.enabled_as(context.machine, checked(conf)))


def a2enconf(context: Context, conf: str) -> dict[str, Any]:
    """Switch a configuration on."""
    return _switch(context, CONF, conf, on=True)


def a2disconf(context: Context, conf: str) -> dict[str, Any]:
    """Switch a configuration off."""
    return _switch(context, CONF, conf, on=False)


def _told(context: Context, option: str) -> str:
    """What apache2ctl prints. CallFailed where it fails, as with a configuration that is not right."""
    done = context.machine.query([control_program(), option])
    if done.returncode != 0:
        raise CallFailed(f"apache2ctl {option}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def _switch(context: Context, switch: ApacheSwitch, name: str, *, on: bool) -> dict[str, Any]:
    done = (switch.enable if on else switch.disable)(context.machine, checked(name))
    context.retcode = done.returncode
    title = f"Apache2 {'Enable' if on else 'Disable'} {switch.shown}"
    states: Mapping[int, Any] = {0: f"{switch.shown} {name} {'enabled' if on else 'disabled'}"}
    if on:
        states = {**states, 1: f"{switch.shown} {name} Not found"}
    return {"Name": title, switch.shown: name, "Status": states.get(done.returncode, done.returncode)}


def _shown(context: Context, done: Completed) -> dict[str, Any]:
    context.retcode = done.returncode
    return {"pid": done.pid, "retcode": done.returncode, "stdout": done.stdout.strip(), "stderr": done.stderr.strip()}


def _number(text: str) -> Any:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


FUNCTIONS: Mapping[str, Any] = {
    each.__name__: each
    for each in (
        a2disconf,
        a2dismod,
        a2dissite,
        a2enconf,
        a2enmod,
        a2ensite,
        check_conf_enabled,
        check_mod_enabled,
        check_site_enabled,
        config,
        directives,
        fullversion,
        modules,
        server_status,
        servermods,
        signal,
        useradd,
        userdel,
        version,
        vhosts,
    )
}
