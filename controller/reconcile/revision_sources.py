"""What a revision is made of: all its sources, which of them moved, and the label that people see. Pure.

Called by `SourceReconciler` for what goes live, and by previews for what differs between two refs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controller.store import RevisionRecord, RevisionSource
from gitfs.source import Revision


def sources_of(revision: Revision, before: Mapping[str, str]) -> tuple[RevisionSource, ...]:
    """The sources of a revision, in the order of its remotes.

    Args:
        revision: what it is made from.
        before: remote -> commit of the revision to compare with; empty: everything is new.
    """
    groups: dict[str, list[str]] = {}
    for name, place in revision.remotes.items():
        groups.setdefault(place.commit, []).append(name)
    found = []
    for commit, names in groups.items():
        place = revision.remotes[names[0]]
        earlier = [before[name] for name in names if name in before and before[name] != commit]
        found.append(
            RevisionSource(
                remotes=tuple(names),
                commit=commit,
                subject=place.subject,
                author=place.author,
                before=earlier[0] if earlier else "",
                moved=any(before.get(name) != commit for name in names),
            )
        )
    return tuple(found)


def commits_of(revision: Revision | RevisionRecord | None) -> dict[str, str]:
    """Remote -> commit; nothing for no revision."""
    if revision is None:
        return {}
    if isinstance(revision, Revision):
        return {name: place.commit for name, place in revision.remotes.items()}
    return {name: source.commit for source in revision.sources for name in source.remotes}


def moved_of(sources: Sequence[RevisionSource]) -> list[RevisionSource]:
    """The sources that moved."""
    return [source for source in sources if source.moved]


def label_of(
    revision: Revision, sources: Sequence[RevisionSource], before: Mapping[str, str], label_before: str = ""
) -> str:
    """Short commit of what moved, `+1` for each further source that moved with it.

    The first revision has that of its first remote. Where no remote's base moved, but a branch of another saltenv or a
    local folder did, the label stays: most minions have the same states.
    """
    moved = moved_of(sources)
    if not before:
        return revision.id
    if not moved:
        return label_before or revision.id
    return moved[0].commit[:8] + (f"+{len(moved) - 1}" if len(moved) > 1 else "")


def moved_data(sources: Sequence[RevisionSource]) -> list[dict[str, Any]]:
    """What moved, as events have it."""
    return [
        {
            "remote": source.remotes[0],
            "commit": source.commit,
            "before": source.before,
            "author": source.author,
            "subject": source.subject,
        }
        for source in moved_of(sources)
    ]


def revision_record(
    revision: Revision, before: Mapping[str, str], now: float, label_before: str = ""
) -> RevisionRecord:
    """What is kept of a revision that comes after one with these commits and this label."""
    sources = sources_of(revision, before)
    first = next(iter([*moved_of(sources), *sources]), None)
    place = revision.remotes[first.remotes[0]] if first else None
    return RevisionRecord(
        digest=revision.digest,
        label=label_of(revision, sources, before, label_before),
        commit=first.commit if first else "",
        subject=first.subject if first else "local folders",
        author=first.author if first else "",
        committed_at=place.committed if place else now,
        first_seen=now,
        sources=sources,
    )


def moved_text(record: RevisionRecord) -> str:
    """What moved, in words: `Another port (A. Writer)`; with the remote and commit where there are several sources."""
    if len(record.sources) < 2:
        return _said(record.subject, record.author)
    texts = [
        f"{source.remotes[0]} {source.commit[:8]} {_said(source.subject, source.author)}"
        for source in moved_of(record.sources)
    ]
    return "; ".join(texts)


def _said(subject: str, author: str) -> str:
    return f"{subject} ({author})" if author else subject
