"""git.*, as far as it is about work trees beside the main one."""

from __future__ import annotations

from typing import Any, Unpack

from minion.arguments.commands import Options
from minion.execution.arguments import NoExitCodeLog, NoPassword, NotSupported, Utf8Output
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.modules.git.run import OfGit, git, revision_of


def list_worktrees(
    context: Context,
    cwd: str,
    stale: NotSupported = None,
    user: str | None = None,
    password: NoPassword = None,
    output_encoding: Utf8Output = None,
    **more: Any,
) -> dict[str, dict[str, Any]]:
    """The work trees of a repository: path → commit and branch."""
    found: dict[str, dict[str, Any]] = {}
    for block in git(context, cwd, "worktree", "list", "--porcelain", user=user).split("\n\n"):
        fields = {key: value for key, _, value in (line.partition(" ") for line in block.splitlines())}
        if "worktree" in fields:
            entry = {"stale": "prunable" in fields, "HEAD": fields.get("HEAD", ""), "detached": "detached" in fields}
            ref = {"branch": fields["branch"].removeprefix("refs/heads/")} if "branch" in fields else {}
            found[fields["worktree"]] = {**entry, **ref}
    return found


def is_worktree(context: Context, cwd: str, user: str | None = None, **ignored: Unpack[OfGit]) -> bool:
    """Whether a path is a work tree beside the main one."""
    try:
        found = git(context, cwd, "rev-parse", "--git-dir", user=user)
    except CallFailed:
        return False
    return "/worktrees/" in found


def worktree_add(
    context: Context, cwd: str, worktree_path: str, ref: str | None = None, reset_branch: bool = False,
    force: bool = False, detach: bool = False, opts: Options = (), git_opts: Options = (), user: str | None = None,
    password: NoPassword = None, ignore_retcode: NoExitCodeLog = None, output_encoding: Utf8Output = None,
    branch: str | None = None,
) -> str:  # fmt: skip
    """Make a work tree beside the main one, on a branch of its own unless it is detached."""
    name = branch or worktree_path.rstrip("/").rpartition("/")[2]
    on = ["--detach"] if detach else ["-B" if reset_branch else "-b", name]
    signs = [*(["--force"] if force else []), *on, *opts]
    return git(context, cwd, "worktree", "add", *signs, worktree_path, *([revision_of(ref)] if ref else []), user=user,
               before=git_opts, whole=True)  # fmt: skip


def worktree_prune(
    context: Context, cwd: str, dry_run: bool = False, verbose: bool = True, expire: str | None = None,
    opts: Options = (), git_opts: Options = (), user: str | None = None, **ignored: Unpack[OfGit],
) -> str:  # fmt: skip
    """Forget work trees that are not there."""
    signs = [*(["--dry-run"] if dry_run else []), *(["--verbose"] if verbose else [])]
    signs += ["--expire", expire] if expire else []
    return git(context, cwd, "worktree", "prune", *signs, *opts, user=user, before=git_opts, whole=True)


def worktree_rm(context: Context, cwd: str, user: str | None = None, output_encoding: Utf8Output = None) -> bool:
    """Remove a work tree beside the main one, its files too; worktree_prune has git forget it."""
    if not is_worktree(context, cwd, user):
        raise CallFailed(f"{cwd} is not a git worktree")
    context.machine.remove(cwd)
    return True
