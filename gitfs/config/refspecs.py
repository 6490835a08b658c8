"""Salt's `refspecs`: what is fetched of a remote, and under which name it is a branch or a tag here.

Called by `gitfs.config.remotes` (to check) and `gitfs.mirror.mirror` (to fetch). Salt keeps branches in
`refs/remotes/origin/` and tags in `refs/tags/`; a refspec says so on its right side, and that side decides what a ref
is for us.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gitfs.errors import BadRemoteSettings

DEFAULT = ("+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*")
PULL_REQUESTS = (
    ("refs/pull/*/head", "pulls/*"),
    ("refs/merge-requests/*/head", "pulls/*"),
    ("refs/pull-requests/*/from", "pulls/*"),
)
"""Where GitHub, Gitea and Forgejo, GitLab, and Bitbucket keep the heads of pull requests."""

_KINDS = {"refs/remotes/origin/": "heads/", "refs/heads/": "heads/", "refs/tags/": "tags/"}


@dataclass(frozen=True, slots=True)
class Refspec:
    """Refs of the remote that match `source` are `target` here; both hold one `*`, or none."""

    source: str
    target: str
    """Below `refs/saltern/fetched/` of the mirror: `heads/…`, `tags/…` or `pulls/…`."""

    def name_of(self, ref: str) -> str | None:
        """What a ref of the remote is called here; None when this refspec is not about it."""
        before, star, after = self.source.partition("*")
        if not star:
            return self.target if ref == self.source else None
        fits = len(ref) > len(before) + len(after) and ref.startswith(before) and ref.endswith(after)
        return self.target.replace("*", ref[len(before) : len(ref) - len(after)]) if fits else None

    def under(self, namespace: str) -> str:
        """As git takes it, with the target in a namespace; forced, as what goes live is decided later."""
        return f"+{self.source}:{namespace}{self.target}"


def parse_refspec(text: str, where: str) -> Refspec:
    """The refspec of a configuration; BadRemoteSettings, beginning with `where`, when it has no meaning here."""
    source, colon, target = text.strip().removeprefix("+").partition(":")
    kind = next((prefix for prefix in _KINDS if target.startswith(prefix)), None)
    if not colon or kind is None or not source.startswith("refs/"):
        raise BadRemoteSettings(
            f"{where}: {text!r} must be like +refs/heads/*:refs/remotes/origin/* (a branch) or "
            "+refs/tags/*:refs/tags/* (a tag)"
        )
    name = target.removeprefix(kind)
    if source.count("*") > 1 or source.count("*") != name.count("*") or not _is_plain(source) or not _is_plain(name):
        raise BadRemoteSettings(f"{where}: {text!r} needs one `*` on both sides, or none, and plain names around it")
    return Refspec(source, _KINDS[kind] + name)


def parse_all(texts: Sequence[str], *, pull_requests: bool) -> tuple[Refspec, ...]:
    """What is fetched for these settings."""
    extra = PULL_REQUESTS if pull_requests else ()
    return tuple(parse_refspec(text, "refspecs") for text in texts) + tuple(Refspec(*pair) for pair in extra)


def names_of(refspecs: Sequence[Refspec], ref: str) -> list[str]:
    """All names that a ref of the remote has here."""
    return [name for refspec in refspecs if (name := refspec.name_of(ref)) is not None]


def _is_plain(name: str) -> bool:
    bad = "..", "//", "@{", "\\", "/.", ":", "^", "~", "?", "["
    return bool(name) and not any(part in name for part in bad) and all(32 < ord(char) != 127 for char in name)
