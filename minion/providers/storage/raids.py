"""Software RAID as mdadm reports and changes it.

Called by the states and the execution module `raid`. Behaviour: doc/ref/modules/all/salt.modules.mdadm_raid.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader
from minion.providers.commands import complaint

_OPTION = re.compile(r"[a-z][a-z-]*")
_OF_ASSEMBLY = frozenset(
    ("bitmap", "config", "force", "homehost", "name", "no-degraded", "readonly", "run", "super-minor", "update", "uuid")
)
"""Options of mdadm that mean something where an array is put together again."""
_MEMBER_COLUMNS = 6


class MdArray(NamedTuple):
    """An array that the kernel has."""

    device: str
    properties: Mapping[str, str]
    """Of mdadm's scan: `metadata`, `name`, `uuid`, …"""
    line: str
    """The whole of it."""
    runs: bool


def arrays(machine: Reader) -> list[MdArray]:
    """The arrays of this machine, those that wait for devices too."""
    found = []
    for line in _asked(machine, "mdadm", "--detail", "--scan").splitlines():
        kind, device, *words = [*line.split(), ""]
        if kind not in ("ARRAY", "INACTIVE-ARRAY"):
            continue
        properties = {key.lower(): value for key, _, value in (word.partition("=") for word in words if word)}
        found.append(MdArray(device, properties, line, kind == "ARRAY"))
    return found


def array_of(machine: Reader, name: str) -> MdArray | None:
    """The array of a name, which may be a link to the device that mdadm names; None where there is none."""
    here = arrays(machine)
    named = next((one for one in here if one.device == name), None)
    if named is None and here and machine.stat(checked(name)) is not None:
        device = _behind(machine, name)
        named = next((one for one in here if _behind(machine, one.device) == device), None)
    return named


def _behind(machine: Reader, name: str) -> str:
    """The device behind links."""
    return machine.query(["readlink", "-f", name]).stdout.strip()


def examined(machine: Reader, device: str) -> dict[str, str]:
    """What stands in the superblock of a device: `MD_UUID`, …; empty where it is a part of no array."""
    done = _mdadm(machine.query(["mdadm", "-Y", "-E", checked(device)]))
    return {key: value for key, sign, value in (line.partition("=") for line in done.stdout.splitlines()) if sign}


def detailed(machine: Reader, device: str) -> dict[str, Any]:
    """What mdadm says of an array, with its `members`. StateFailed where there is none."""
    if machine.stat(checked(device)) is None:
        raise StateFailed(f"Device {device} doesn't exist!")
    found: dict[str, Any] = {"members": {}}
    for line in _asked(machine, "mdadm", "--detail", device).splitlines():
        key, sign, value = line.partition(" : ")
        columns = line.split()
        if sign:
            found[key.strip().lower().replace(" ", "_")] = value.strip()
        elif len(columns) >= _MEMBER_COLUMNS and columns[-1].startswith("/dev/"):
            number, major, minor, place, *state, member = columns
            found["members"][number] = {
                "device": member, "major": major, "minor": minor, "number": number, "raiddevice": place,
                "state": " ".join(state),
            }  # fmt: skip
    return found


def creation(name: str, level: str, devices: Sequence[str], options: Mapping[str, Any]) -> list[str]:
    """The words that make an array; a device may be `missing`. Existing contents are no obstacle."""
    given = dict(options)
    metadata = str(given.pop("metadata", "default"))
    count = len(devices) - int(given.get("spare-devices") or 0)
    words = ["mdadm", "-C", checked(name), "-R", "-v", "-l", level, *_options(given)]
    return [*words, "-e", metadata, "-n", str(count), *map(checked, devices)]


def assembly(name: str, devices: Sequence[str], options: Mapping[str, Any]) -> list[str]:
    """The words that put an array together again; options that count only for a new one are left out."""
    kept = {key: value for key, value in options.items() if key in _OF_ASSEMBLY}
    return ["mdadm", "-A", checked(name), "-v", *_options(kept), *map(checked, devices)]


def told(machine: Machine, words: Sequence[str]) -> str:
    """What mdadm says to a change; StateFailed with its complaint."""
    done = _mdadm(machine.run(words))
    if done.returncode != 0:
        raise StateFailed(complaint(done))
    return "\n".join(text for text in (done.stdout.strip(), done.stderr.strip()) if text)


def add(machine: Machine, name: str, device: str) -> None:
    """Have a device be a part of an array: a spare one, where none is missing."""
    told(machine, ["mdadm", "--manage", checked(name), "--add", checked(device)])


def destroy(machine: Machine, name: str) -> None:
    """Stop an array, and have its devices, and the configuration, know nothing of it."""
    members = [one["device"] for one in detailed(machine, name)["members"].values()]
    told(machine, ["mdadm", "--stop", name])
    if members:
        told(machine, ["mdadm", "--zero-superblock", *members])
    kept = [line for line in _configuration(machine) if not _is_about(line, name)]
    if len(kept) < len(_configuration(machine)):
        _write(machine, kept)


def save(machine: Machine) -> str:
    """Have mdadm's configuration name the arrays that run, and the initramfs have it; what making that one says."""
    lines = _configuration(machine)
    for one in arrays(machine):
        line = _stable(one.line) if machine.grains.get("os") == "Ubuntu" else one.line
        place = next((number for number, has in enumerate(lines) if _is_about(has, one.device)), len(lines))
        lines[place : place + 1] = [line]
    _write(machine, lines)
    family = machine.grains.get("os_family")
    words = {"Debian": ["update-initramfs", "-u"], "RedHat": ["dracut", "--force"]}.get(str(family), [])
    done = machine.run(words) if words else None
    if done is not None and done.returncode not in (0, 127):
        raise StateFailed(f"{words[0]} failed: {complaint(done)}")
    return "" if done is None or done.returncode else done.stdout.strip()


def checked(name: str) -> str:
    """StateFailed for what mdadm would take for an option."""
    if not name or name.startswith("-"):
        raise StateFailed(f"{name!r} cannot be the name of a device")
    return name


def _options(options: Mapping[str, Any]) -> list[str]:
    words = []
    for key, value in options.items():
        if not _OPTION.fullmatch(key):
            raise StateFailed(f"{key!r} is no option of mdadm")
        if value is not False and value is not None:
            words += [f"--{key}"] if value is True else [f"--{key}", str(value)]
    return words


def _stable(line: str) -> str:
    """Without what keeps Ubuntu's initramfs from finding the array by this line."""
    return re.sub(r"\s(?:name|metadata)=\S+", "", line, flags=re.IGNORECASE)


def _is_about(line: str, device: str) -> bool:
    words = line.split()
    return words[:1] == ["ARRAY"] and words[1:2] == [device]


def _path(machine: Reader) -> str:
    return "/etc/mdadm/mdadm.conf" if machine.grains.get("os_family") == "Debian" else "/etc/mdadm.conf"


def _configuration(machine: Reader) -> list[str]:
    path = _path(machine)
    return [] if machine.stat(path) is None else machine.read(path).decode(errors="surrogateescape").splitlines()


def _write(machine: Machine, lines: Sequence[str]) -> None:
    text = "".join(f"{line}\n" for line in lines)
    machine.write(_path(machine), text.encode(errors="surrogateescape"))


def _asked(machine: Reader, *words: str) -> str:
    done = _mdadm(machine.query(words))
    if done.returncode != 0:
        raise StateFailed(complaint(done))
    return done.stdout


def _mdadm(done: Completed) -> Completed:
    if done.returncode == 127:
        raise StateFailed("There is no mdadm program: install the package mdadm")
    return done
