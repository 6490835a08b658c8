"""Debian's /etc/network/interfaces, as ifupdown reads it: a `NetworkFiles`.

Only the stanzas of the interface that a state is about are written; all else in the files stays as it is.
Behaviour: interfaces(5); salt.modules.debian_ip.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader
from minion.providers.network.debian_settings import (
    KINDS,
    bond_options,
    normal_option,
    peer_file,
    rank,
    stanzas,
)
from minion.providers.network.files import InterfaceWish, NetworkFile, Settings, WantedFiles, is_folder, text_of
from minion.providers.network.values import line, wrong

INTERFACES, FOLDER = "/etc/network/interfaces", "/etc/network/interfaces.d"
_ROUTES = (("add", "/etc/network/if-up.d"), ("del", "/etc/network/if-down.d"))
_MODPROBE, _PEERS = "/etc/modprobe.d", "/etc/ppp/peers"
_KEYWORDS = (
    "auto",
    "iface",
    "mapping",
    "source",
    "source-directory",
    "rename",
    "no-auto-down",
    "no-scripts",
    "template",
)


class _Entry(NamedTuple):
    """Lines of the file that belong together: from a keyword to the last option; or one that is blank or a comment."""

    keyword: str
    words: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    raw: str


def _entries(text: str) -> list[_Entry]:
    found: list[_Entry] = []
    open_at: int | None = None
    for raw, said in _logical(text):
        parts = said.split()
        if not parts or parts[0].startswith("#"):
            found.append(_Entry("", (), (), raw))
        elif parts[0] in _KEYWORDS or parts[0].startswith("allow-"):
            found.append(_Entry(parts[0], tuple(parts[1:]), (), raw))
            open_at = len(found) - 1
        elif open_at is None:
            raise StateFailed(f"Interface file malformed: {parts}.")
        else:  # what stands between belongs to the stanza
            above = found[open_at]
            between = "".join(entry.raw for entry in found[open_at + 1 :])
            option = (parts[0], said.strip().partition(parts[0])[2].strip())
            del found[open_at:]
            found.append(above._replace(options=(*above.options, option), raw=above.raw + between + raw))
    return found


def _logical(text: str) -> list[tuple[str, str]]:
    """Each line as it stands, and what it says; a backslash at its end joins the next one to it."""
    found, raw, said = [], "", ""
    for each in text.splitlines(keepends=True):
        raw += each
        bare = each.rstrip("\n")
        said += bare.removesuffix("\\") + " " if bare.endswith("\\") else bare
        if not bare.endswith("\\"):
            found.append((raw, said))
            raw, said = "", ""
    return [*found, (raw, said)] if raw else found


class Ifupdown:
    """The files of one machine."""

    follow: tuple[str, ...] = ("slave", "source")

    def __init__(self, *, has_use_carrier: bool = True) -> None:
        self._has_use_carrier = has_use_carrier
        """Whether bonds of mode 1 say whether they ask the driver for the carrier: those of Ubuntu do not."""

    # --- interfaces -------------------------------------------------------------------------------------------------

    def interface(self, machine: Reader, name: str) -> list[str]:
        """Its stanzas, written in one way."""
        if name == "source":
            sources = [one.words[0] for _, text in self._files(machine) for one in _entries(text)
                       if one.keyword == "source" and one.words]  # fmt: skip
            return _shown("\n" + "".join(f"source {each}\n" for each in sources)) if sources else []
        found = [one for _, text in self._files(machine) for one in _entries(text) if name in one.words]
        made = [one for one in found if one.keyword == "iface" and one.words[0] == name]
        if not made:
            return []
        text = f"auto {name}\n" if any(one.keyword == "auto" for one in found) else ""
        text += f"allow-hotplug {name}\n" if any(one.keyword == "allow-hotplug" for one in found) else ""
        for family in ("inet", "inet6"):
            for one in (one for one in made if one.words[1:2] == (family,)):
                options = [(normal_option(option), value) for option, value in one.options]
                text += _stanza(name, family, one.words[-1], sorted(options, key=lambda each: rank(each[0])))
        return _shown(text)

    def wanted_interface(self, machine: Reader, wish: InterfaceWish) -> WantedFiles:
        """Its stanzas in the file that has them; a new one in the file of `filename`, or in the first."""
        if wish.kind not in KINDS:
            raise wrong(wish.name, wish.kind, KINDS)
        if wish.kind == "source":
            return self._wanted_source(machine, wish)
        _check_kind(wish)
        made = stanzas(wish, has_use_carrier=self._has_use_carrier)
        text = f"auto {wish.name}\n" if wish.enabled else ""
        text += f"allow-hotplug {wish.name}\n" if wish.settings.get("hotplug") else ""
        text += "".join(_stanza(wish.name, family, method, options) for family, (method, options) in made.items())
        own = wish.settings.get("filename")
        if own:
            path = str(own) if str(own).startswith("/") else f"{FOLDER}/{own}"
            files = [NetworkFile(path, text)]
        else:
            path, old = self._place(machine, wish.name)
            files = [NetworkFile(path, _replaced(old, wish.name, text))]
        if wish.kind == "pppoe":
            provider = line(wish.name, "provider", wish.settings["provider"])
            files.append(NetworkFile(f"{_PEERS}/{provider}", peer_file(wish.name, wish.settings), "0600"))
        return WantedFiles(tuple(_shown(text)), tuple(files))

    def _wanted_source(self, machine: Reader, wish: InterfaceWish) -> WantedFiles:
        source = line(wish.name, "source", wish.settings.get("source") or "")
        if not source:
            raise wrong(wish.name, "source", "a file, or a pattern of files")
        text = text_of(machine, INTERFACES)
        there = [one.words[0] for one in _entries(text) if one.keyword == "source" and one.words]
        if source not in there:
            text = f"{_ended(text)}source {source}\n"
        return WantedFiles(
            tuple(_shown("\n" + "".join(f"source {each}\n" for each in dict.fromkeys((*there, source))))),
            (NetworkFile(INTERFACES, text),),
        )

    def _files(self, machine: Reader) -> list[tuple[str, str]]:
        """Paths and texts of the files that have interfaces."""
        paths = [INTERFACES] if machine.stat(INTERFACES) is not None else []
        names = machine.listdir(FOLDER) if machine.stat(FOLDER) is not None else ()
        paths += [f"{FOLDER}/{name}" for name in names if not is_folder(machine, f"{FOLDER}/{name}")]
        return [(path, text_of(machine, path)) for path in paths]

    def _place(self, machine: Reader, name: str) -> tuple[str, str]:
        """The file that has the interface, and its text."""
        files = self._files(machine)
        having = [
            (path, text) for path, text in files
            if any(one.keyword == "iface" and one.words[:1] == (name,) for one in _entries(text))
        ]  # fmt: skip
        if len(having) > 1:
            both = " and ".join(path for path, _ in having)
            raise StateFailed(f"{name} is in {both}: name the file that is to have it in `filename`")
        return having[0] if having else (INTERFACES, dict(files).get(INTERFACES, ""))

    # --- bonds and routes -------------------------------------------------------------------------------------------

    def bond(self, machine: Reader, name: str) -> list[str]:
        """The lines of the file that modprobe reads for a bond."""
        return text_of(machine, f"{_MODPROBE}/{name}.conf").splitlines(keepends=True)

    def wanted_bond(self, name: str, settings: Settings) -> WantedFiles:
        """The same, as a state wants it."""
        options = bond_options(name, settings, has_use_carrier=self._has_use_carrier)
        told = "".join(f"{key}={value} " for key, value in options.items())
        text = f"alias {name} bonding\noptions {name} {told}"
        return WantedFiles(tuple(text.splitlines(keepends=True)), (NetworkFile(f"{_MODPROBE}/{name}.conf", text),))

    def routes(self, machine: Reader, name: str) -> list[str]:
        """The lines of both scripts."""
        texts = (text_of(machine, f"{folder}/route-{_script(name)}") for _, folder in _ROUTES)
        return [each for text in texts for each in text.splitlines(keepends=True)]

    def wanted_routes(self, machine: Reader, name: str, routes: Sequence[Settings]) -> WantedFiles:
        """A script that adds them when the interface comes up, and one that deletes them."""
        made = [
            NetworkFile(f"{folder}/route-{_script(name)}", _route_script(verb, name, routes), "0755")
            for verb, folder in _ROUTES
        ]
        shown = [each for file in made for each in (file.text or "").splitlines(keepends=True)]
        return WantedFiles(tuple(shown), tuple(made))

    # --- effect -----------------------------------------------------------------------------------------------------

    def up(self, machine: Machine, name: str, kind: str) -> Completed | None:
        """By ifup(8)."""
        return None if kind in self.follow else machine.run(["ifup", name])

    def down(self, machine: Machine, name: str, kind: str) -> Completed | None:
        """By ifdown(8)."""
        return None if kind in self.follow else machine.run(["ifdown", name])

    def services(self, machine: Reader) -> tuple[str, ...]:
        """networking(8)."""
        return ("networking",)


def _check_kind(wish: InterfaceWish) -> None:
    needed = {"slave": "master", "bond": "slaves", "bridge": "ports"}.get(wish.kind)
    if needed and not wish.settings.get(needed):
        systems = " on Debian or Ubuntu based systems" if wish.kind == "bridge" else ""
        raise StateFailed(f"{needed} is a required setting for {wish.kind} interfaces{systems}")
    if wish.kind == "pppoe" and not wish.settings.get("provider"):
        raise wrong(wish.name, "provider", "the name of the provider")


def _stanza(name: str, family: str, method: str, options: Sequence[tuple[str, str]]) -> str:
    return f"iface {name} {family} {method}\n" + "".join(f"    {option} {value}\n" for option, value in options)


def _replaced(text: str, name: str, new: str) -> str:
    """The text of a file with this for the interface, where it stood, or at the end."""
    made: list[str] = []
    places: dict[str, int] = {}
    for one in _entries(text):
        mine = one.keyword == "iface" and one.words[:1] == (name,)
        named = one.keyword in ("auto", "allow-hotplug") and name in one.words
        if not mine and not named:
            made.append(one.raw)
            continue
        others = [word for word in one.words if word != name]
        if named and others:
            made.append(" ".join((one.keyword, *others)) + "\n")
        places.setdefault(one.keyword, len(made))
    place = places.get("iface", min(places.values(), default=None))
    if place is None:
        return _ended("".join(made)) + new
    return _ended("".join(made[:place])) + new + "".join(made[place:])


def _ended(text: str) -> str:
    return text if text.endswith("\n") or not text else f"{text}\n"


def _shown(text: str) -> list[str]:
    """As Salt shows it: the end of the last line is a line, too."""
    return [f"{each}\n" for each in text.split("\n")]


def _script(name: str) -> str:
    """run-parts(8) runs no script with a dot in its name."""
    return name.replace(".", "_")


def _route_script(verb: str, name: str, routes: Sequence[Settings]) -> str:
    text = f'#!/bin/sh\n# {verb}\ntest "${{IFACE}}" = "{name}" || exit 0\n'
    for route in routes:
        if route.get("name"):
            text += f"# {line(name, 'name', route['name'])}\n"
        target = f"{route.get('ipaddr') or ''}" + (f"/{route['netmask']}" if route.get("netmask") else "")
        text += f"ip route {verb} {target} " + (f"via {route['gateway']}" if route.get("gateway") else "")
        text += f" dev {name}" + (f" metric {route['metric']}" if route.get("metric") else "") + "\n"
    return text
