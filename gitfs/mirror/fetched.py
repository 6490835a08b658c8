"""What a fetch brought, as `gitfs.mirror.mirror` returns it and `gitfs.fetching` passes it on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gitfs.errors import FetchFailed
from gitfs.mirror.ref_updates import RefRefused


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What a fetch brought."""

    remote: str
    changed: bool
    """Whether a live branch or tag moved, came or went."""
    live: Mapping[str, str]
    """`heads/...` -> commit and `tags/...` -> id (of the tag's object, where it has one), as they are live now."""
    refused: tuple[RefRefused, ...] = ()
    rebuilt: bool = False
    """The mirror was damaged and was cloned again."""
    waiting: Mapping[str, str] = field(default_factory=dict)
    """`heads/...` and `tags/...` -> commit that goes live with a later fetch, after what it needs elsewhere, or that is
    live and needs it again."""

    @property
    def refs(self) -> Mapping[str, str]:
        """Branch -> commit that is live now."""
        return _of_kind(self.live, "heads/")

    @property
    def tags(self) -> Mapping[str, str]:
        """Tag -> id that is live now."""
        return _of_kind(self.live, "tags/")


def no_live_branch(remote: str, refused: Sequence[RefRefused]) -> FetchFailed:
    """What a fetch is that leaves nothing live."""
    reason = f"no branch can be used: {refused[0]}" if refused else "no branch"
    return FetchFailed(remote, reason, retryable=True)


def shortened(refused: Sequence[RefRefused], most: int) -> tuple[RefRefused, ...]:
    """The first names, and how many more there are."""
    if len(refused) <= most:
        return tuple(refused)
    return (*refused[:most], RefRefused(branch="...", reason=f"and {len(refused) - most} more branches and tags"))


def _of_kind(refs: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {name.removeprefix(prefix): oid for name, oid in refs.items() if name.startswith(prefix)}
