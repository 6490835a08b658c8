"""The first line of a comment, which no reader sees: whose it is and what it is about. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

_MOST = 80
"""Characters of a name in a marker."""
_MARKER = re.compile(
    r"(?:<!-- |\[//\]: # \")saltern-preview:v1 controller=(\S*) environment=(\S*) head=(\S*) time=(\d+(?:\.\d+)?)"
    r"(?: -->|\")"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """What a comment says of itself to programs."""

    controller: str
    environment: str
    head: str
    """Whole commit."""
    time: float
    """When the report was made; seconds since the epoch."""

    def same_place(self, other: Marker) -> bool:
        """Whether both are of the same controller and environment, so that one comment takes the place of the other."""
        return (self.controller, self.environment) == (other.controller, other.environment)


def marker_of(controller: str, environment: str, head: str, time: float) -> Marker:
    """A marker; names that are too long for it are cut, here and so in every comparison."""
    return Marker(
        controller=controller[:_MOST], environment=environment[:_MOST], head=head[:_MOST], time=round(time, 3)
    )


def marker_line(marker: Marker, *, html: bool = True) -> str:
    """The marker in Markdown: an HTML comment, or an unused definition of a link where a forge shows HTML."""
    names = (marker.controller, marker.environment, marker.head)
    controller, environment, head = (quote(name, safe="").replace("-", "%2D") for name in names)
    text = f"saltern-preview:v1 controller={controller} environment={environment} head={head} time={marker.time:.3f}"
    return f"<!-- {text} -->" if html else f'[//]: # "{text}"'


def parse_marker(comment: str) -> Marker | None:
    """The marker that the first line of a comment is; None when it is none of ours."""
    found = _MARKER.fullmatch(comment.lstrip("\ufeff").partition("\n")[0].rstrip())
    if found is None:
        return None
    controller, environment, head = (unquote(found[number]) for number in (1, 2, 3))
    return Marker(controller=controller, environment=environment, head=head, time=float(found[4]))
