"""The pkgrepo state where dnf or zypper is: repositories in `.repo` files.

Called by `minion.states.pkgrepo.state`. The files are read and written by `minion.providers.pkg.repo_files`; under
zypper they are written too, where Salt has zypper do it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, Value
from minion.providers.pkg import repo_files
from minion.providers.pkg.repo_files import Repository
from minion.states.pkg.steps import with_its_neighbour
from minion.states.pkgrepo.lists import TEST_NOTE, fetch_lists

_LINKS = ("baseurl", "mirrorlist", "metalink")
_NOT_WRITTEN = ("refresh", "refresh_db")
_WORDS = {True: "1", False: "0"}
_FLAGS = {"1": True, "yes": True, "true": True, "on": True, "0": False, "no": False, "false": False, "off": False}


def managed(machine: Reader, name: str, given: Mapping[str, Value]) -> Plan:
    """The repository `name` (its id) has these options; an option that is None is taken out."""
    repo_files.check_id(name)
    wanted, dropped = _options(name, given)
    folders = _folders(machine)
    there = repo_files.find(machine, name, folders)
    comments = _comments(given.get("comments"))
    if there is None and not any(link in wanted for link in _LINKS):
        raise StateFailed(f"Repository {name} is not there yet: it needs one of {', '.join(_LINKS)}")
    options = _merged(there, wanted, dropped)
    path = there.path if there else f"{repo_files.folder(machine, folders)}/{name}.repo"
    changes = _differences(there, options, comments)
    if there is not None and not changes:
        return Plan(comment=f"Package repo '{name}' already configured")

    def act(machine: Machine) -> None:
        text = machine.read(path).decode("utf-8", "surrogateescape") if machine.stat(path) else ""
        kept = comments if comments is not None else there.comments if there else ()
        new = repo_files.with_repository(text, name, options, kept)
        machine.write(path, new.encode("utf-8", "surrogateescape"))

    shown = [Change(key="repo", reported=name, act=act)] if there is None else _shown(changes, act)
    if given.get("refresh", True) and given.get("refresh_db", True):
        shown.append(Change(key="", act=lambda machine: fetch_lists(machine, name)))
    return Plan(
        changes=tuple(shown),
        pending=f"Package repo '{name}' would be configured. {TEST_NOTE}",
        done=f"Configured package repo '{name}'",
    )


def absent(machine: Reader, name: str) -> Plan:
    """There is no repository of this id."""
    repo_files.check_id(name)
    there = repo_files.find(machine, name, _folders(machine))
    if there is None:
        return Plan(comment=f"Package repo {name} is absent")
    path = there.path

    def act(machine: Machine) -> None:
        text = repo_files.without_repository(machine.read(path).decode("utf-8", "surrogateescape"), name)
        if text:
            machine.write(path, text.encode("utf-8", "surrogateescape"))
        else:
            machine.remove(path)

    return Plan(
        changes=(Change(key="repo", reported=name, act=act),),
        pending=f"Package repo '{name}' will be removed. {TEST_NOTE}",
        done=f"Removed repo {name}",
    )


def _folders(machine: Reader) -> Sequence[str]:
    return repo_files.ZYPPER_FOLDERS if machine.stat("/usr/bin/zypper") else repo_files.DNF_FOLDERS


def _options(name: str, given: Mapping[str, Value]) -> tuple[dict[str, str], set[str]]:
    """What shall stand there, and what shall not."""
    if given.get("enabled") is not None and given.get("disabled") is not None:
        raise StateFailed("Only one of enabled/disabled is allowed")
    enabled = given.get("enabled") if given.get("disabled") is None else not _flag(given["disabled"])
    rest = {key: value for key, value in given.items() if key not in ("enabled", "disabled", "humanname", "comments")}
    own = {"name": given.get("humanname") or name, **rest, "enabled": enabled is None or _flag(enabled)}
    texts = {key: _text(key, value) for key, value in own.items() if key not in _NOT_WRITTEN}
    links = [link for link in _LINKS if texts.get(link)]
    if len(links) > 1:
        raise StateFailed(f"Only one of {', '.join(_LINKS)} can be used")
    dropped = {key for key, text in texts.items() if text is None} | (set(_LINKS) - set(links) if links else set())
    return {key: text for key, text in texts.items() if text is not None}, dropped


def _text(key: str, value: Value) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return _WORDS[value]
    text = " ".join(str(one) for one in value) if isinstance(value, list) else str(value)
    if any(letter in text for letter in "\r\n"):
        raise StateFailed(f"The option {key} of a repository is one line")
    return text.strip()


def _flag(value: Value) -> bool:
    return _FLAGS.get(value.strip().lower(), False) if isinstance(value, str) else bool(value)


def _comments(value: Value) -> tuple[str, ...] | None:
    if value is None:
        return None
    return tuple(str(one).strip() for one in value) if isinstance(value, list) else (str(value).strip(),)


def _merged(there: Repository | None, wanted: Mapping[str, str], dropped: set[str]) -> dict[str, str]:
    kept = {key: value for key, value in (there.options if there else {}).items() if key not in dropped}
    return {**kept, **{key: value for key, value in wanted.items() if not _same(kept.get(key), value)}}


def _same(old: str | None, new: str) -> bool:
    """1, yes and True are the same to dnf and zypper."""
    if old is None or old == new:
        return old == new
    return old.lower() in _FLAGS and new.lower() in _FLAGS and _FLAGS[old.lower()] == _FLAGS[new.lower()]


def _differences(
    there: Repository | None, options: Mapping[str, str], comments: tuple[str, ...] | None
) -> dict[str, tuple[Value, Value]]:
    old: Mapping[str, str] = there.options if there else {}
    changes: dict[str, tuple[Value, Value]] = {
        key: (old.get(key), options.get(key))
        for key in [*old, *(key for key in options if key not in old)]
        # A repository that does not say so is enabled.
        if old.get(key) != options.get(key) and not (key == "enabled" and key not in old and options[key] == "1")
    }
    if there is not None and comments is not None and comments != there.comments:
        changes["comments"] = (list(there.comments), list(comments))
    return changes


def _shown(changes: Mapping[str, tuple[Value, Value]], act: Callable[[Machine], None]) -> list[Change]:
    return [
        Change(key=key, old=old, new=new, act=with_its_neighbour if number else act)
        for number, (key, (old, new)) in enumerate(changes.items())
    ]
