"""Limits of what a git server, a branch or a tree may cost: everything that this room refuses by size, count or time.

One object of these goes to each source, its mirrors and their workers; nothing here is enforced. What is refused is
reported to `on_refusal`, with the name of the limit as messages have it: `ref-name-bytes`.
"""

from __future__ import annotations

from dataclasses import dataclass

from options.limits import LimitCount, LimitSeconds

MIB = 1024 * 1024
GIB = 1024 * MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class GitLimits:
    """What one remote may cost."""

    refs: LimitCount = 100_000
    """Branches, tags and pull requests that are followed; more are left out, the newest first."""
    ref_name_bytes: LimitCount = 1024
    """Bytes of the name of a branch or tag that is followed."""
    advertisement_bytes: LimitCount = 32 * MIB
    """Bytes of the list of all refs, as the server sends it; a longer one ends the fetch."""
    pack_bytes: LimitCount = 8 * GIB
    """Bytes that one transfer brings; more ends the fetch."""
    worker_bytes: LimitCount = 4 * GIB
    """Bytes of memory of a process that fetches, maps of files not counted."""
    file_bytes: LimitCount = GIB
    """Bytes of one file in a tree; a commit with a larger one does not go live."""
    tree_files: LimitCount = 500_000
    """Files in the tree of one commit."""
    tree_depth: LimitCount = 128
    """Folders in folders of a tree."""
    live_refs: LimitCount = 10_000
    """Branches and tags that are live, each a saltenv; those that are live already and the base come first."""
    reported_refusals: LimitCount = 1000
    """Refused branches and tags that a fetch reports one by one."""
    completions: LimitCount = 2
    """Commits of a remote, beside those of its base, that get what they need elsewhere (submodules, LFS) at a time."""
    completion_seconds: LimitSeconds = 300.0
    """Seconds that one commit may take to get what it needs elsewhere."""
    merge_seconds: LimitSeconds = 30.0
    """Seconds that merging a branch for a preview may take; then it is compared with where it has branched off."""
    push_seconds: LimitSeconds = 60.0
    """Seconds that pushing a branch to a remote may take (`saltern adopt --yes`)."""
    submodule_seconds: LimitSeconds = 60.0
    """Seconds that one submodule may take."""
    submodules: LimitCount = 200
    """Submodules of one commit."""
    submodule_depth: LimitCount = 5
    """Submodules of submodules."""
    lfs_bytes: LimitCount = 2 * GIB
    """Bytes of one content of Git LFS."""
    lfs_commit_bytes: LimitCount = 8 * GIB
    """Bytes of the contents of Git LFS that one commit brings."""
