"""Apt's lists of repositories: `sources.list`, `sources.list.d/*.list` (a line each) and `*.sources` (deb822).

Called by `minion.states.pkgrepo.state`. It parses and makes texts, looks for files through a `Reader`, and changes
nothing. Formats: sources.list(5).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from minion.machine.failure import StateFailed
from minion.machine.plan import Reader

ROOT = "/etc/apt"
_LINE = re.compile(r"(?P<off>#\s*)?(?P<type>deb|deb-src)\s+(?:\[(?P<options>[^\]]*)\]\s*)?(?P<rest>\S.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class AptSource:
    """One repository, as one line says it."""

    type: str
    uri: str
    suite: str
    components: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    """As they stand between brackets: `arch`, `signed-by`, `trusted` …"""
    enabled: bool = True
    comment: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes it the same repository, whatever its components and options are."""
        return self.type, self.uri.rstrip("/"), self.suite

    @property
    def line(self) -> str:
        """As it stands in a file."""
        brackets = (
            "[" + " ".join(f"{name}={value}" for name, value in self.options.items()) + "] " if self.options else ""
        )
        text = f"{self.type} {brackets}{self.uri} {self.suite}"
        text = f"{text} {' '.join(self.components)}" if self.components else text
        text = text if self.enabled else f"# {text}"
        return f"{text} # {self.comment}" if self.comment else text

    def same(self, other: AptSource) -> bool:
        """Whether both say the same, the order of components aside."""
        ours = (self.key, sorted(self.components), dict(self.options), self.enabled)
        theirs = (other.key, sorted(other.components), dict(other.options), other.enabled)
        return ours == theirs and (not self.comment or self.comment == other.comment)


def parse_line(text: str) -> AptSource | None:
    """A line as a repository, a commented one as a disabled one; None for what is none."""
    match = _LINE.fullmatch(text.strip())
    if match is None:
        return None
    rest, _, comment = match["rest"].partition("#")
    words = rest.split()
    if len(words) < 2 or ("/" not in words[0] and ":" not in words[0]):
        return None  # prose in a comment
    pairs = (word.partition("=") for word in shlex.split((match["options"] or "").replace(",", "\\,")))
    return AptSource(
        type=match["type"],
        uri=words[0],
        suite=words[1],
        components=tuple(words[2:]),
        options={name: value.replace("\\", "") for name, sign, value in pairs if sign},
        enabled=not match["off"],
        comment=comment.strip(),
    )


def wanted_line(text: str) -> AptSource:
    """The repository that a state's name describes; StateFailed when it describes none."""
    found = parse_line(text)
    if found is None or not found.enabled:
        raise StateFailed(f"{text!r} is no repository: write it as `deb [options] URI SUITE COMPONENTS`")
    if any(character in text for character in "\r\n"):
        raise StateFailed("A repository is one line")
    return found


def files(machine: Reader) -> Iterator[str]:
    """Paths of all files that apt reads repositories from."""
    if machine.stat(f"{ROOT}/sources.list"):
        yield f"{ROOT}/sources.list"
    folder = f"{ROOT}/sources.list.d"
    for name in machine.listdir(folder) if machine.stat(folder) else ():
        if name.endswith((".list", ".sources")) and not name.startswith("."):
            yield f"{folder}/{name}"


def sources_in(path: str, text: str) -> list[AptSource]:
    """The repositories of a file."""
    if path.endswith(".sources"):
        return [source for stanza in stanzas(text) for source in sources_of(stanza)]
    return [source for line in text.splitlines() if (source := parse_line(line)) is not None]


def stanzas(text: str) -> list[dict[str, str]]:
    """The stanzas of a deb822 text: field -> value, lines of a value joined by newlines."""
    found: list[dict[str, str]] = [{}]
    name = ""
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        if not line.strip():
            found.append({})
        elif line[0].isspace() and name:
            found[-1][name] += "\n" + line.strip()
        elif ":" in line:
            name, _, value = line.partition(":")
            name = name.strip().lower()
            found[-1][name] = value.strip()
    return [stanza for stanza in found if stanza]


def sources_of(stanza: Mapping[str, str]) -> list[AptSource]:
    """The repositories that a stanza stands for: each of its types, URIs and suites."""
    options = {"arch": "architectures", "signed-by": "signed-by", "trusted": "trusted", "lang": "languages"}
    given = {short: ",".join(stanza[long].split()) for short, long in options.items() if long in stanza}
    return [
        AptSource(
            type=kind,
            uri=uri,
            suite=suite,
            components=tuple(stanza.get("components", "").split()),
            options=given,
            enabled=stanza.get("enabled", "yes").lower() not in ("no", "false", "0"),
        )
        for kind in stanza.get("types", "").split()
        for uri in stanza.get("uris", "").split()
        for suite in stanza.get("suites", "").split()
    ]


def deb822(source: AptSource) -> str:
    """A stanza of its own for a repository."""
    fields = {"Types": source.type, "URIs": source.uri, "Suites": source.suite}
    fields["Components"] = " ".join(source.components)
    fields["Enabled"] = "" if source.enabled else "no"
    names = {"arch": "Architectures", "lang": "Languages"}
    for name, value in source.options.items():
        fields[names.get(name, name.title())] = value.replace(",", " ")
    return "".join(f"{name}: {value}\n" for name, value in fields.items() if value)


def with_source(path: str, text: str, source: AptSource) -> str:
    """The text of a file with this repository in it, in place of the one that it is another state of."""
    if path.endswith(".sources"):
        kept = _without_stanzas(text, source)
        return f"{kept.rstrip()}\n\n{deb822(source)}" if kept.strip() else deb822(source)
    lines, placed = [], False
    for line in text.splitlines():
        there = parse_line(line)
        if there is None or there.key != source.key or (not there.enabled and source.enabled and placed):
            lines.append(line)
        elif not placed:
            lines.append(source.line if source.comment else replace(source, comment=there.comment).line)
            placed = True
    return "\n".join([*lines, *([] if placed else [source.line])]) + "\n"


def without_source(path: str, text: str, source: AptSource) -> str:
    """The text of a file without this repository."""
    if path.endswith(".sources"):
        return _without_stanzas(text, source)
    kept = []
    for line in text.splitlines():
        there = parse_line(line)
        if there is None or there.key != source.key or not there.enabled:
            kept.append(line)
    return "\n".join(kept) + "\n" if kept else ""


def _without_stanzas(text: str, source: AptSource) -> str:
    """Without the stanza of this repository alone; one that stands for others too is refused."""
    kept = []
    for part in re.split(r"\n\s*\n", text):
        found = [one for stanza in stanzas(part) for one in sources_of(stanza)]
        mine = [one for one in found if one.key == source.key]
        if mine and len(found) > len(mine):
            raise StateFailed(
                f"{source.uri} {source.suite} stands in one stanza with others: give it a file of its own first"
            )
        if not mine:
            kept.append(part.strip("\n"))
    joined = "\n\n".join(part for part in kept if part.strip())
    return f"{joined}\n" if joined else ""
