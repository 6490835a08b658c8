"""What is gathered of the content of one chunk, and what is wrong with its sources. Made by `content`."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field

from highstate.compile_options import MissingSource
from highstate.missing_sources import missing_source_warning
from highstate.types import Content, Problem, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceText:
    """What a chunk makes of a template, or of pillar or grains that it names."""

    name: str
    """Path on the minion."""
    source: str = ""
    """Path in the tree; empty where it is no file of the tree."""
    text: str | None = None
    """None where the minion alone can render it."""
    live: tuple[str, ...] = ()
    """Functions of the machine that it needs for that, as far as they are known."""


@dataclass(slots=True)
class ContentParts:
    """What is known so far of one chunk's content."""

    digest: list[str] = field(default_factory=list)
    texts: list[SourceText] = field(default_factory=list)
    files: dict[tuple[str, str], str] = field(default_factory=dict)
    modes: dict[tuple[str, str], int] = field(default_factory=dict)
    links: dict[tuple[str, str], str] = field(default_factory=dict)
    volatile: list[str] = field(default_factory=list)

    def content(self) -> Content:
        """The content of the chunk."""
        whole = hashlib.sha256("\0".join(self.digest).encode(errors="surrogatepass")).hexdigest()
        volatile = tuple(dict.fromkeys(self.volatile))
        return Content(digest=whole, files=self.files, modes=self.modes, links=self.links, volatile=volatile)


@dataclass(slots=True, kw_only=True)
class SourceProblems:
    """What is wrong with the sources of chunks."""

    missing_source: MissingSource = "refuse"
    errors: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    """Sources that are not in the tree, where that fails their states alone."""

    def missing(self, problem: Problem) -> None:
        """A source is not in the tree."""
        if self.missing_source == "fail_state":
            self.warnings.append(missing_source_warning(problem))
        else:
            self.errors.append(problem)

    @property
    def any(self) -> bool:
        """Whether something is wrong."""
        return bool(self.errors or self.warnings)


def plain_text(value: Value) -> str:
    """Equal values give equal texts; the order of a mapping counts, since a template may loop over it."""
    return json.dumps(value, default=repr, ensure_ascii=False)
