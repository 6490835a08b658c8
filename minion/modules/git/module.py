"""The execution module `git`: repositories on the machine, by git(1).

Every function takes `cwd`, the clone, first, and `user`, whom git runs as. A password that is missing is an error, and
no question that nobody answers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Unpack

from minion.arguments.commands import Options
from minion.arguments.types import CommaList
from minion.execution.arguments import NoExitCodeLog, NoPassword, NotSupported, Utf8Output
from minion.execution.context import Context
from minion.modules.git.config import config_get, config_get_regexp, config_set, config_unset
from minion.modules.git.remote import FUNCTIONS as REMOTE
from minion.modules.git.run import OfGit, OfOutput, git, revision_of
from minion.modules.git.worktree import is_worktree, list_worktrees, worktree_add, worktree_prune, worktree_rm


def version(context: Context, versioninfo: bool = False) -> Any:
    """The version of git; with `versioninfo` as a list of numbers."""
    text = git(context, None, "version").split()[2]
    return [int(one) for one in re.findall(r"\d+", text)] if versioninfo else text


def init(
    context: Context, cwd: str, bare: bool = False, template: str | None = None, separate_git_dir: str | None = None,
    shared: str | None = None, opts: Options = (), git_opts: NotSupported = None, user: str | None = None,
    **ignored: Unpack[OfGit],
) -> str:  # fmt: skip
    """Make an empty repository."""
    given = {"--template": template, "--separate-git-dir": separate_git_dir, "--shared": shared}
    signs = [f"{option}={value}" for option, value in given.items() if value is not None]
    return git(context, None, "init", *(["--bare"] if bare else []), *signs, *opts, "--", cwd, user=user)


def checkout(
    context: Context, cwd: str, rev: str | None = None, force: bool = False, opts: Options = (), git_opts: Options = (),
    user: str | None = None, **ignored: Unpack[OfGit],
) -> str:  # fmt: skip
    """Check out a revision."""
    forced = ["--force"] if force else []
    return git(
        context,
        cwd,
        "checkout",
        *forced,
        *opts,
        *([revision_of(rev)] if rev else []),
        user=user,
        before=git_opts,
        whole=True,
    )


def revision(
    context: Context,
    cwd: str,
    rev: str = "HEAD",
    short: bool = False,
    user: str | None = None,
    **ignored: Unpack[OfGit],
) -> str:
    """The commit that a revision means."""
    return git(context, cwd, "rev-parse", *(["--short"] if short else []), revision_of(rev), user=user)


def rev_parse(
    context: Context,
    cwd: str,
    rev: str | None = None,
    opts: Options = (),
    git_opts: NotSupported = None,
    user: str | None = None,
    **ignored: Unpack[OfGit],
) -> str:
    """What git rev-parse says."""
    return git(context, cwd, "rev-parse", *opts, *([rev] if rev else []), user=user)


def current_branch(context: Context, cwd: str, user: str | None = None, **ignored: Unpack[OfGit]) -> str:
    """The branch that is checked out; `HEAD` when it is none."""
    return git(context, cwd, "rev-parse", "--abbrev-ref", "HEAD", user=user)


def list_branches(
    context: Context, cwd: str, remote: bool = False, user: str | None = None, **ignored: Unpack[OfGit]
) -> list[str]:
    """Local branches, or those of the remotes."""
    where = "refs/remotes" if remote else "refs/heads"
    short = len(where) + 1
    return [
        one[short:] for one in git(context, cwd, "for-each-ref", "--format=%(refname)", where, user=user).splitlines()
    ]


def list_tags(context: Context, cwd: str, user: str | None = None, **ignored: Unpack[OfGit]) -> list[str]:
    """All tags."""
    return git(context, cwd, "tag", "--list", user=user).splitlines()


def tag(
    context: Context, cwd: str, name: str, ref: str = "HEAD", message: str | None = None, opts: Options = (),
    git_opts: NotSupported = None, user: str | None = None, **ignored: Unpack[OfGit],
) -> str:  # fmt: skip
    """Make a tag; with a message an annotated one."""
    said = ["-a", "-m", message] if message else []
    return git(context, cwd, "tag", *said, *opts, "--", name, revision_of(ref), user=user)


def branch(
    context: Context,
    cwd: str,
    name: str | None = None,
    opts: Options = (),
    git_opts: Options = (),
    user: str | None = None,
    **ignored: Unpack[OfGit],
) -> bool:
    """Make or change a branch."""
    git(context, cwd, "branch", *opts, *([revision_of(name)] if name else []), user=user, before=git_opts)
    return True


def describe(context: Context, cwd: str, rev: str = "HEAD", user: str | None = None, **ignored: Unpack[OfGit]) -> str:
    """The nearest tag, or the commit's short id."""
    return git(context, cwd, "describe", "--always", revision_of(rev), user=user)


def status(context: Context, cwd: str, user: str | None = None, **ignored: Unpack[OfGit]) -> dict[str, list[str]]:
    """What is changed in the work tree: deleted, modified, new, untracked."""
    names = {"D": "deleted", "M": "modified", "A": "new", "??": "untracked"}
    found: dict[str, list[str]] = {}
    for entry in git(context, cwd, "status", "-z", "--porcelain", user=user, strip=False).split("\0"):
        if entry:
            found.setdefault(names.get(entry[:2].strip(), "modified"), []).append(entry[3:])
    return found


def merge_base(
    context: Context, cwd: str, refs: CommaList = (), octopus: NotSupported = None, is_ancestor: NotSupported = None,
    independent: NotSupported = None, fork_point: NotSupported = None, opts: NotSupported = None,
    git_opts: NotSupported = None, user: str | None = None, password: NoPassword = None,
    ignore_retcode: NoExitCodeLog = None, output_encoding: Utf8Output = None, **more: Any,
) -> str:  # fmt: skip
    """The commit from which several revisions have parted."""
    return git(context, cwd, "merge-base", *(revision_of(one) for one in refs), user=user)


def symbolic_ref(
    context: Context, cwd: str, ref: str, value: str | None = None, opts: Options = (), git_opts: NotSupported = None,
    user: str | None = None, **ignored: Unpack[OfGit],
) -> str:  # fmt: skip
    """What a symbolic ref stands for, or have it stand for a ref."""
    return git(context, cwd, "symbolic-ref", *opts, ref, *([value] if value else []), user=user)


def archive(
    context: Context, cwd: str, output: str, rev: str = "HEAD", prefix: str | None = None,
    git_opts: NotSupported = None, user: str | None = None, password: NoPassword = None,
    ignore_retcode: NoExitCodeLog = None, output_encoding: Utf8Output = None,
    *, format: str | None = None,  # noqa: A002  (Salt's name)
) -> bool:  # fmt: skip
    """Write the files of a revision to an archive."""
    name = cwd.rstrip("/").rpartition("/")[2] + "/" if prefix is None else prefix
    form = [f"--format={format}"] if format else []
    git(
        context,
        cwd,
        "archive",
        *([f"--prefix={name}"] if name else []),
        *form,
        f"--output={output}",
        revision_of(rev),
        user=user,
    )
    return True


def add(
    context: Context,
    cwd: str,
    filename: str,
    opts: Options = (),
    git_opts: Options = (),
    user: str | None = None,
    **ignored: Unpack[OfGit],
) -> str:
    """Stage a path; what git says."""
    return git(context, cwd, "add", "--verbose", *opts, filename, user=user, before=git_opts)


def merge(
    context: Context, cwd: str, rev: str | None = None, opts: Options = (), git_opts: Options = (),
    user: str | None = None, password: NoPassword = None, identity: str | None = None, **ignored: Unpack[OfOutput],
) -> str:  # fmt: skip
    """Merge a revision into what is checked out; what git says."""
    words = [*opts, *([rev] if rev else [])]
    return git(context, cwd, "merge", *words, user=user, identity=identity, before=git_opts)


def rebase(
    context: Context,
    cwd: str,
    rev: str | None = "master",
    opts: Options = (),
    git_opts: Options = (),
    user: str | None = None,
    **ignored: Unpack[OfGit],
) -> str:
    """Put the commits of the current branch on top of a revision; what git says."""
    return git(context, cwd, "rebase", *opts, *([rev] if rev else []), user=user, before=git_opts)


def reset(
    context: Context, cwd: str, opts: Options = (), git_opts: Options = (), user: str | None = None,
    password: NoPassword = None, identity: str | None = None, *, rev: str | None = None, **ignored: Unpack[OfOutput],
) -> str:  # fmt: skip
    """Run `git reset` with these options; what git says."""
    words = [*opts, *([rev] if rev else [])]
    return git(context, cwd, "reset", *words, user=user, identity=identity, before=git_opts)


def rm(
    context: Context,
    cwd: str,
    filename: str,
    opts: Options = (),
    git_opts: Options = (),
    user: str | None = None,
    **ignored: Unpack[OfGit],
) -> str:
    """Remove a path from the work tree and from what is staged; what git says."""
    return git(context, cwd, "rm", *opts, filename, user=user, before=git_opts)


def stash(
    context: Context,
    cwd: str,
    action: str = "save",
    opts: Options = (),
    git_opts: Options = (),
    user: str | None = None,
    **ignored: Unpack[OfGit],
) -> str:
    """Put what is not committed aside, or another action of `git stash`; what git says."""
    return git(context, cwd, "stash", action, *opts, user=user, before=git_opts)


def submodule(
    context: Context, cwd: str, command: str, opts: Options = (), git_opts: Options = (), user: str | None = None,
    password: NoPassword = None, identity: str | None = None, **ignored: Unpack[OfOutput],
) -> str:  # fmt: skip
    """Run a command of `git submodule`, such as `update`; what git says."""
    return git(context, cwd, "submodule", command, *opts, user=user, identity=identity, before=git_opts)


def diff(
    context: Context, cwd: str, item1: str | None = None, item2: str | None = None, opts: Options = (),
    git_opts: Options = (), user: str | None = None, password: NoPassword = None, no_index: bool = False,
    cached: bool = False, paths: CommaList = (), output_encoding: Utf8Output = None,
) -> str:  # fmt: skip
    """What differs between two revisions, or from what is checked out; with `cached` what is staged."""
    signs = [*(["--no-index"] if no_index else []), *(["--cached"] if cached else [])]
    revisions = [revision_of(one) for one in (item1, item2) if one]
    return git(context, cwd, "diff", *signs, *opts, *revisions, *(["--", *paths] if paths else []), user=user,
               before=git_opts, good=(0, 1) if no_index else (0,))  # fmt: skip


def commit(
    context: Context, cwd: str, message: str, opts: Options = (), git_opts: Options = (), user: str | None = None,
    password: NoPassword = None, filename: str | None = None, **ignored: Unpack[OfOutput],
) -> str:  # fmt: skip
    """Commit what is staged, or a file."""
    only = ["--", filename] if filename else []
    return git(context, cwd, "commit", "-m", message, *opts, *only, user=user, before=git_opts)


def discard_local_changes(
    context: Context, cwd: str, path: str = ".", user: str | None = None, **ignored: Unpack[OfGit]
) -> str:
    """Take back what is changed in the work tree, and not staged."""
    return git(context, cwd, "checkout", "--", path, user=user)


FUNCTIONS: Mapping[str, Any] = {
    **REMOTE,
    "add": add,
    "archive": archive,
    "branch": branch,
    "checkout": checkout,
    "commit": commit,
    "config_get": config_get,
    "config_get_regex": config_get_regexp,
    "config_get_regexp": config_get_regexp,
    "config_set": config_set,
    "config_unset": config_unset,
    "current_branch": current_branch,
    "describe": describe,
    "diff": diff,
    "discard_local_changes": discard_local_changes,
    "init": init,
    "is_worktree": is_worktree,
    "list_branches": list_branches,
    "list_tags": list_tags,
    "list_worktrees": list_worktrees,
    "merge": merge,
    "merge_base": merge_base,
    "rebase": rebase,
    "reset": reset,
    "rev_parse": rev_parse,
    "revision": revision,
    "rm": rm,
    "stash": stash,
    "status": status,
    "submodule": submodule,
    "symbolic_ref": symbolic_ref,
    "tag": tag,
    "version": version,
    "worktree_add": worktree_add,
    "worktree_prune": worktree_prune,
    "worktree_rm": worktree_rm,
}
