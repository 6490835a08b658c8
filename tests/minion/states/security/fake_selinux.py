"""The programs of a running SELinux, with their state in a file: what they are asked that is wrong, they refuse.

python fake_selinux.py STATE PROGRAM ARGUMENT ...
"""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any, NoReturn

KINDS = {"a": "all files", "f": "regular file", "d": "directory"}


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def refuse(text: str) -> NoReturn:
    sys.stderr.write(f"{text}\n")
    sys.exit(1)


def getenforce(state: dict[str, Any], words: list[str]) -> None:
    assert words == []
    say(state["mode"])


def setenforce(state: dict[str, Any], words: list[str]) -> None:
    if state["mode"] == "Disabled":
        refuse("setenforce: SELinux is disabled")
    (word,) = words
    state["mode"] = {"1": "Enforcing", "0": "Permissive"}[word]


def setsebool(state: dict[str, Any], words: list[str]) -> None:
    persist = words[0] == "-P"
    for pair in words[1:] if persist else words:
        name, value = pair.split("=")
        if name not in state["booleans"] or value not in ("on", "off", "1", "0", "true", "false"):
            refuse(f"Boolean {name} is not defined or {value} is no value")
        word = "on" if value in ("on", "1", "true") else "off"
        state["booleans"][name] = [word, word if persist else state["booleans"][name][1]]


def semodule(state: dict[str, Any], words: list[str]) -> None:
    if words == ["--list-modules=full"]:
        for priority, name, kind, enabled in state["modules"]:
            say(f"{priority} {name:15} {kind} {'' if enabled else 'disabled'}")
        return
    verb, name = words
    if verb == "--install":
        path = Path(name)
        state["modules"] = [one for one in state["modules"] if one[:2] != [400, path.stem]]
        state["modules"].append([400, path.stem, path.suffix[1:], True])
        kept = Path(state["store"]) / path.stem
        kept.mkdir(exist_ok=True, parents=True)
        (kept / ("cil" if path.suffix == ".cil" else "hll")).write_bytes(path.read_bytes())
        return
    found = [one for one in state["modules"] if one[1] == name]
    if verb == "--remove":
        if not [one for one in found if one[0] == 400]:
            refuse(f"libsemanage.semanage_direct_remove_key: Unable to remove module {name} at priority 400.")
        state["modules"].remove(next(one for one in found if one[0] == 400))
        return
    assert verb in ("--enable", "--disable")
    if not found:
        refuse(f"libsemanage.semanage_direct_set_enabled: No such module: {name}")
    for one in found:
        one[3] = verb == "--enable"


def semanage(state: dict[str, Any], words: list[str]) -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("what", choices=["boolean", "fcontext", "port"])
    for action in ("add", "modify", "delete", "list"):
        parser.add_argument(f"--{action}", action="store_true")
    parser.add_argument("--locallist", action="store_true")
    for option in ("ftype", "type", "seuser", "range", "proto"):
        parser.add_argument(f"--{option}")
    parser.add_argument("object", nargs="?")
    given = parser.parse_intermixed_args(words)
    assert given.add + given.modify + given.delete + given.list == 1
    if given.what == "boolean":
        assert given.list
        say("SELinux boolean                State  Default Description\n")
        for name, (now, later) in state["booleans"].items():
            say(f"{name:30} ({now:5},{later:>5})  Allow {name} to do")
    else:
        (fcontext if given.what == "fcontext" else port)(state, given)


def fcontext(state: dict[str, Any], given: argparse.Namespace) -> None:
    assert given.proto is None
    assert given.ftype != "a"
    kind = KINDS[given.ftype or "a"]
    if given.list:
        both = {} if given.locallist else {(spec, one): label for spec, one, label in state["contexts"]}
        both |= {(spec, one): label for spec, one, label in state["local_contexts"]}
        say("SELinux fcontext                                   type               Context\n")
        for (spec, one), label in both.items():
            say(f"{spec:50} {one:18} {label} ")
        say("\nSELinux Distribution fcontext Equivalence \n\n/var/run = /run")
        return
    key = [given.object, kind]
    local = [one for one in state["local_contexts"] if one[:2] == key]
    there = bool(local or [one for one in state["contexts"] if one[:2] == key])
    if given.delete:
        if not local:
            refuse(
                f"ValueError: File context for {given.object} is {'defined in policy' if there else 'not defined'}"
            )  # fmt: skip
        state["local_contexts"].remove(local[0])
        return
    if not given.type.endswith("_t"):
        refuse(f"ValueError: Type {given.type} is invalid, must be a file or device type")
    if there != given.modify:
        refuse("ValueError: already defined" if there else "ValueError: is not defined")
    label = f"{given.seuser or 'system_u'}:object_r:{given.type}:{given.range or 's0'}"
    state["local_contexts"] = [one for one in state["local_contexts"] if one[:2] != key] + [[*key, label]]


def port(state: dict[str, Any], given: argparse.Namespace) -> None:
    if given.list:
        say("SELinux Port Type              Proto    Port Number\n")
        for (kind, proto), listed in listed_ports(state, local=given.locallist).items():
            say(f"{kind:30} {proto:8} {', '.join(listed)}")
        return
    assert given.proto in ("tcp", "udp")
    assert re.fullmatch(r"\d+(-\d+)?", given.object)
    key = [given.proto, given.object]
    local = [one for one in state["local_ports"] if one[:2] == key]
    there = bool(local or [one for one in state["ports"] if one[:2] == key])
    if given.delete:
        if not local:
            refuse(f"ValueError: Port {given.proto}/{given.object} is defined in policy, cannot be deleted")
        state["local_ports"].remove(local[0])
        return
    if there != given.modify:
        refuse("ValueError: Port already defined" if there else "ValueError: Port is not defined")
    state["local_ports"] = [one for one in state["local_ports"] if one[:2] != key] + [[*key, given.type]]


def listed_ports(state: dict[str, Any], *, local: bool) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    for proto, number, kind in [*state["local_ports"], *([] if local else state["ports"])]:
        found.setdefault((kind, proto), []).append(number)
    return found


def restorecon(state: dict[str, Any], words: list[str]) -> None:
    signs, path = words[:-1], words[-1]
    assert set(signs) <= {"-n", "-v", "-F", "-R"}
    for one in [path, *(str(each) for each in Path(path).rglob("*") if "-R" in signs)]:
        now, wanted = (state["labels"].get(one, "system_u:object_r:default_t:s0"), "system_u:object_r:web_t:s0")
        if "-F" not in signs:
            wanted = ":".join([*now.split(":")[:2], "web_t", now.split(":", 3)[3]])
        if now != wanted:
            say(f"{'Would relabel' if '-n' in signs else 'Relabeled'} {one} from {now} to {wanted}")
            if "-n" not in signs:
                state["labels"][one] = wanted


def main(kept: str, program: str, words: list[str]) -> None:
    state = json.loads(Path(kept).read_text())
    globals()[program](state, words)
    Path(kept).write_text(json.dumps(state))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
