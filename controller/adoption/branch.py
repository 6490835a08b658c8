"""Names, authors and messages of the commits that `saltern adopt` makes. Pure.

What stands in them comes from people and machines: names become safe for a ref, texts printable and of one line.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from controller.adoption.edits import RepositoryFiles
from controller.schema.fleet.adoption import AdoptedState
from gitfs.config.settings import DEFAULT_BASES, RemoteSettings, check_ref
from gitfs.errors import BadRemoteSettings
from gitfs.mirror.file_commits import CommitIdentity
from gitfs.printable import printable
from highstate.types import state_title

PREFIX = "adopt/"
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_AUTHOR = re.compile(r"\s*(?P<name>[^<>\n]*[^<>\s])\s*<(?P<email>[^<>\s]+@[^<>\s]+)>\s*\Z")
_LONGEST_NAME = 40
_LONGEST_LINE = 200
_MOST_STATES = 20


class BadAuthor(ValueError):
    """No `Name <address>`."""


class BadBranch(ValueError):
    """No name for a new branch."""


def author_of(given: str, user: str, controller: str) -> CommitIdentity:
    """Whom the commit names as its author.

    Args:
        given: `Name <address>`; empty: the user.
        user: who asks.
        controller: name of the controller, for an address of the user.

    Raises:
        BadAuthor: it is not of that form.
    """
    if not given:
        return CommitIdentity(
            name=_one_line(user) or "saltern", email=f"{_safe(user) or 'saltern'}@{_host(controller)}"
        )
    match = _AUTHOR.match(given)
    if match is None:
        raise BadAuthor(f"{given!r} is no author: write 'Name <name@example.org>'")
    return CommitIdentity(name=_one_line(match["name"]), email=_one_line(match["email"]))


def committer_of(controller: str) -> CommitIdentity:
    """The controller, which has made the commit."""
    return CommitIdentity(name="Saltern", email=f"saltern@{_host(controller)}")


def digest_of(changed: RepositoryFiles) -> str:
    """Of a change of one repository: its base, and the new contents."""
    whole = hashlib.sha256(changed.base.encode())
    for path, content in sorted(changed.files.items()):
        whole.update(f"\0{path}\0".encode(errors="surrogateescape") + hashlib.sha256(content).digest())
    return whole.hexdigest()[:16]


def branch_of(minion: str, states: Sequence[AdoptedState], digest: str) -> str:
    """`adopt/web1/nginx-conf-1f2e3d4c`: the end depends on what is changed, so that no two changes share a branch."""
    first = states[0].key.split("_|-")[1] if states else "state"
    more = f"-and-{len(states) - 1}-more" if len(states) > 1 else ""
    return f"{PREFIX}{_safe(minion) or 'minion'}/{_safe(first) or 'state'}{more}-{digest[:8]}"


def checked_branch(name: str, remotes: Iterable[RemoteSettings]) -> str:
    """A name that somebody has given.

    Args:
        name: without `refs/heads/`.
        remotes: what is live of them by name must not be made by a push.

    Raises:
        BadBranch: git does not take the name, or it is one that the configuration names.
    """
    try:
        check_ref(name, "--branch")
    except BadRemoteSettings as error:
        raise BadBranch(str(error)) from None
    for each in remotes:
        refs = {each.base, each.branch, each.all_saltenvs, each.fallback, *DEFAULT_BASES}
        if name in refs | {one.ref for one in each.saltenvs}:
            raise BadBranch(f"--branch: {name} is what {each.name} is read from; a new branch is for a pull request")
    return name


def own_message(text: str, user: str) -> str:
    """The message that somebody has given, and who that is."""
    lines = [printable(line, _LONGEST_LINE) for line in text.strip().splitlines()]
    return "\n".join([*lines, "", f"Adopted-by: {_one_line(user) or 'unknown'}", ""])


def message_of(minion: str, states: Sequence[AdoptedState], files: Sequence[str], user: str) -> str:
    """The message of the commit for one repository.

    Args:
        minion: its id.
        states: that are adopted.
        files: of this repository, that it changes.
        user: who asks.
    """
    titles = [_one_line(state_title(each.key)) for each in states]
    named = titles[0] if len(titles) == 1 else f"{len(titles)} states"
    lines = [f"Adopt {named} of {_one_line(minion)}"[:_LONGEST_LINE], ""]
    lines += ["The machine has it so, and git has said otherwise.", ""]
    for title, state in list(zip(titles, states, strict=True))[:_MOST_STATES]:
        lines.append(f"{title}:")
        here = [place for place in state.places if any(place == file or place.startswith(f"{file}:") for file in files)]
        lines += [f"  {_one_line(place)}" for place in here]
        lines += [f"  {one}" for one in evidence_lines(state.evidence)]
    if len(states) > _MOST_STATES:
        lines.append(f"and {len(states) - _MOST_STATES} more")
    return "\n".join([*lines, "", f"Adopted-by: {_one_line(user) or 'unknown'}", ""])


def evidence_lines(evidence: Mapping[str, Any]) -> list[str]:
    """Who changed the machine, and when, as far as it tells."""
    found = [f"{path} was changed {_clock(at)}" for path, at in _entries(evidence, "changed")]
    for one in _told(evidence, "audit"):
        found.append(f"audit: {_clock(one.get('at'))} by user {one.get('user', '')} with {one.get('program', '')}")
    for one in _told(evidence, "packages"):
        found.append(f"package log: {_clock(one.get('at'))} {one.get('verb', '')} {one.get('name', '')}")
    for one in _told(evidence, "sessions"):
        found.append(f"logged in then: {one.get('user', '')} from {one.get('host') or 'here'}")
    return [_one_line(line) for line in found]


def _entries(evidence: Mapping[str, Any], name: str) -> list[tuple[Any, Any]]:
    found = evidence.get(name)
    return list(found.items())[:_MOST_STATES] if isinstance(found, Mapping) else []


def _told(evidence: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = evidence.get(name)
    return [one for one in found if isinstance(one, Mapping)][:_MOST_STATES] if isinstance(found, list | tuple) else []


def _clock(at: Any) -> str:
    if not isinstance(at, int | float) or not 0 <= at < 1e11:
        return "at an unknown time"
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(at))


def _one_line(text: str) -> str:
    return printable(" ".join(str(text).split()), _LONGEST_LINE)


def _safe(text: str) -> str:
    return _UNSAFE.sub("-", text).strip("-")[:_LONGEST_NAME].strip("-")


def _host(controller: str) -> str:
    return re.sub(r"[^A-Za-z0-9.-]+", "-", controller).strip(".-") or "localhost"
