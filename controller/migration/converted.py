"""The converted files of `saltern migrate check --write`: configurations, a policy to begin with, and notes.

Everything is written into one folder, into files that are not there yet, and is read by our own loaders before.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from controller.migration import trial
from controller.migration.check import Checked
from controller.migration.items import Item, without_passwords
from controller.migration.salt_files import ConfigurationKind
from controller.policy.reading import POLICY_FILE, PolicyInvalid, read_policy
from highstate.files import MemoryFiles
from options.bounded_files import FileRefused

NOTES = "NOTES.md"
ACTS: Mapping[ConfigurationKind, tuple[str, ...]] = {
    "master": ("reactor", "schedule", "engines", "event_return"),
    "minion": ("schedule",),
}
"""Options by which something is done without anybody asking: while Salt runs as well it would be done twice."""
_NAMES: Mapping[ConfigurationKind, str] = {"master": "controller", "minion": "minion"}
_COPIED = ("grains", "minion_id")
"""Files of a minion that are the same here."""
_CONTROLLER = """\
# From {folder}, by `saltern migrate check`. What was left out, and why, is in NOTES.md.
#
# While a Salt master runs on this machine, it has the ports 4505 and 4506: choose others then,
# here (publish_port, ret_port) and in the configuration of the minions (publish_port, master_port).
"""
_MINION = """\
# From {folder}, by `saltern migrate check`. What was left out, and why, is in NOTES.md.
#
# A minion knows its controller by the key that `saltern key controller` prints there:
# controller_key: 'the key that was printed'
"""
_ACTS = """\
# From {folder}, by `saltern migrate check`. What is here acts by itself, as it does in Salt:
# put it into {name}.d when Salt runs no more.
"""
_POLICY = """\
# Belongs beside top.sls, in the tree of states. With `apply: manual` nothing is changed until `saltern sync`:
# take it out when Saltern shall apply what is pushed.
apply: manual
"""
_FACTS = """\
# Functions of the live machine that SLS or pillar call, and that do more than look. Each is run on the
# minions when they are compiled: take out what shall not be.
facts:
"""


class CannotWrite(Exception):
    """The files were not written; the text says why."""


def write(checked: Checked, out: Path) -> list[str]:
    """Write the files; their paths. CannotWrite, before anything is written, where one is there already.

    Args:
        checked: what was found.
        out: a folder, which is made where it is not there.
    """
    texts = _texts(checked)
    source = checked.configuration.folder.path
    if out.resolve().is_relative_to(source.resolve()):
        raise CannotWrite(f"{out} lies in {source}, of which nothing is changed: name another folder")
    if there := [name for name in texts if os.path.lexists(out / name)]:
        raise CannotWrite(f"{out / there[0]} is there already: name a new folder")
    _verify(texts)
    try:
        out.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name, text in texts.items():
            # Passwords of remotes and the like are in it.
            handle = os.open(out / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with open(handle, "w", encoding="utf-8") as file:  # noqa: PTH123  (a descriptor)
                file.write(text)
    except OSError as error:
        raise CannotWrite(f"{error.filename} cannot be written: {error.strerror}") from None
    return [str(out / name) for name in texts]


def acts_of(name: str) -> str:
    """The file beside a converted one that has what acts by itself."""
    return f"{name}-acts.conf"


def _configuration(kind: ConfigurationKind, taken: Mapping[str, Any], folder: str) -> dict[str, str]:
    """The converted file, and another with what acts by itself, where there is such a thing."""
    name = _NAMES[kind]
    head = (_CONTROLLER if kind == "master" else _MINION).format(folder=folder)
    acts = {option: value for option, value in taken.items() if option in ACTS[kind]}
    texts = {name: head + trial.text_of({option: value for option, value in taken.items() if option not in acts})}
    if acts:
        texts[acts_of(name)] = _ACTS.format(folder=folder, name=name) + trial.text_of(acts)
    return texts


def _texts(checked: Checked) -> dict[str, str]:
    """Name -> content."""
    configuration = checked.configuration
    texts: dict[str, str] = {}
    folder = str(configuration.folder.path)
    if "master" in configuration.has:
        texts |= _configuration("master", configuration.master.taken, folder)
        texts[POLICY_FILE] = _POLICY
        if checked.trees.facts:
            texts[POLICY_FILE] += _FACTS + "".join(f"- {name}\n" for name in sorted(checked.trees.facts))
    if "minion" in configuration.has:
        texts |= _configuration("minion", configuration.minion.taken, folder)
        for name in _COPIED:
            path = configuration.folder.path / name
            if path.is_file():
                try:
                    texts[name] = configuration.folder.text(path)
                except FileRefused as refused:
                    configuration.folder.not_read.append(str(refused))
    return {**texts, NOTES: notes(checked)}


def _verify(texts: Mapping[str, str]) -> None:
    """Have our own loaders read what will be written. CannotWrite when they do not take it."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="saltern-migrate-") as folder:
        for name in _COPIED:
            if name in texts:
                Path(folder, name).write_text(texts[name], encoding="utf-8")
        wrong: list[str] = []
        for kind, name in _NAMES.items():
            if name in texts:
                wrong += trial.faults_of_folder(kind, Path(folder), texts[name] + texts.get(acts_of(name), ""))
    try:
        if POLICY_FILE in texts:
            read_policy(MemoryFiles({"base": {POLICY_FILE: texts[POLICY_FILE].encode()}}))
    except PolicyInvalid as error:
        wrong.append(str(error.problem))
    if wrong:
        raise CannotWrite("what would be written is not taken by our own loaders: " + "; ".join(wrong))


def notes(checked: Checked) -> str:
    """What a person has to know of the conversion, as Markdown; each thing once."""
    configuration = checked.configuration
    lines = [f"# From {configuration.folder.path} to Saltern", ""]
    items = list(checked.report.items)
    for kind, name in _NAMES.items():
        found = configuration.master if kind == "master" else configuration.minion
        if found.left_out:
            left = [_left_out(each, items) for each in found.left_out]
            lines += [f"## Left out of `{name}`", "", *left, ""]
    for title, verdict in (("No counterpart", "no counterpart"), ("Different", "different")):
        if shown := [item for item in items if item.verdict == verdict]:
            lines += [f"## {title}", "", *map(_note, shown), ""]
    if checked.report.not_read:
        lines += ["## Not looked at", "", *(f"- {_one_line(each)}" for each in checked.report.not_read), ""]
    return "\n".join(lines)


def _left_out(text: str, items: list[Item]) -> str:
    """The line of something that was left out: that of its item, which is taken out of `items`, where it has one."""
    item = next((each for each in items if each.how and text.endswith(f"{each.name}: {each.how}")), None)
    if item is None:
        return _one_line(f"- {without_passwords(text)}")
    items.remove(item)
    return _note(item)


def _note(item: Item) -> str:
    place = f" ({item.place})" if item.place else ""
    return _one_line(f"- {item.kind} `{item.name}`{place}: {item.how}" + (f" [{item.docs}]" if item.docs else ""))


def _one_line(text: str) -> str:
    return " ".join(text.split())
