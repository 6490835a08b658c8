"""The state module `locale`: locales that are generated, and the one of the system.

Behaviour: doc/ref/states/all/salt.states.locale. Debian's way: /etc/locale.gen and locale-gen(8), /etc/default/locale.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from minion.machine.plan import Change, Machine, Plan, Reader, StateFailed, StateFunction

GENERATED, DEFAULT = "/etc/locale.gen", "/etc/default/locale"


def present(machine: Reader, name: str) -> Plan:
    """The locale is generated."""
    _checked(name)
    if normal_locale(name) in {normal_locale(one) for one in machine.query(["locale", "-a"]).stdout.split()}:
        return Plan(comment=f"Locale {name} is already present")
    if machine.stat(GENERATED) is None:
        raise StateFailed(f"There is no {GENERATED}: install the package locales")
    charset = name.split()[1] if " " in name else name.partition(".")[2].partition("@")[0] or "ISO-8859-1"
    line = f"{name.split()[0]} {charset}"
    old = machine.read(GENERATED).decode()
    new = re.sub(rf"(?m)^[ \t]*#?[ \t]*{re.escape(line)}[ \t]*$", line, old)
    if not re.search(rf"(?m)^{re.escape(line)}$", new):
        new += ("" if new.endswith("\n") or not new else "\n") + f"{line}\n"

    def act(machine: Machine) -> None:
        machine.write(GENERATED, new.encode())
        done = machine.run(["locale-gen"])
        if done.returncode != 0:
            raise StateFailed(f"Failed to generate locale {name}: {done.stderr.strip() or done.stdout.strip()}")

    return Plan(
        changes=(Change(key="locale", shown=name, act=act),),
        pending=f"Locale {name} needs to be generated",
        done=f"Generated locale {name}",
    )


def system(machine: Reader, name: str) -> Plan:
    """The locale of the system is `name`."""
    _checked(name)
    old = machine.read(DEFAULT).decode() if machine.stat(DEFAULT) is not None else ""
    found = re.search(r'(?m)^LANG="?([^"\n]*)"?\s*$', old)
    if found is not None and found[1] == name:
        return Plan(comment=f"System locale {name} already set")
    kept = "".join(line for line in old.splitlines(keepends=True) if not line.startswith("LANG="))
    text = f"LANG={name}\n{kept}"
    return Plan(
        changes=(Change(key="locale", shown=name, act=lambda machine: machine.write(DEFAULT, text.encode())),),
        pending=f"System locale {name} needs to be set",
        done=f"Set system locale {name}",
    )


def _checked(name: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9_.@-]+( [A-Za-z0-9-]+)?", name):
        raise StateFailed(f"{name!r} is no name of a locale: write en_US.UTF-8")


def normal_locale(name: str) -> str:
    """`en_US.UTF-8` and `en_US.utf8` are the same."""
    language, dot, charset = name.split()[0].partition(".")
    return language + dot + charset.replace("-", "").lower()


STATES: Mapping[str, StateFunction] = {"present": present, "system": system}
