"""The execution module `git`: repositories on the machine, by git(1).

Every function takes `cwd`, the clone, first, and `user`, whom git runs as. A password that is missing is an error, and
no question that nobody answers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Unpack

from minion.arguments.types import CommaList
from minion.execution.arguments import NoExitCodeLog, NoPassword, NoTreeFile, NotSupported, Utf8Output
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.modules.git.config import config_get, config_get_regexp, config_set, config_unset
from minion.modules.git.run import OfGit, OfOutput, Words, git, revision_of, without_password, words_of
from minion.modules.git.worktree import is_worktree, list_worktrees, worktree_add, worktree_prune, worktree_rm


def version(context: Context, versioninfo: bool = False) -> Any:
    """The version of git; with `versioninfo` as a list of numbers."""
    text = git(context, None, "version").split()[2]
    return [int(one) for one in re.findall(r"\d+", text)] if versioninfo else text


def init(
    context: Context, cwd: str, bare: bool = False, template: str | None = None, separate_git_dir: str | None = None,
    shared: str | None = None, opts: Words = "", git_opts: NotSupported = None, user: str | None = None,
    **ignored: Unpack[OfGit],
) -> str:  # fmt: skip
    """Make an empty repository."""
    given = {"--template": template, "--separate-git-dir": separate_git_dir, "--shared": shared}
    signs = [f"{option}={value}" for option, value in given.items() if value is not None]
    return git(context, None, "init", *(["--bare"] if bare else []), *signs, *words_of(opts), "--", cwd, user=user)


def clone(
    context: Context, cwd: str, url: str, name: str | None = None, opts: Words = "", git_opts: Words = "",
    user: str | None = None, password: NoPassword = None, identity: str | None = None, https_user: str | None = None,
    https_pass: str | None = None, **ignored: Unpack[OfOutput],
) -> bool:  # fmt: skip
    """Clone a repository to a path, or below it under a name."""
    from urllib.parse import quote

    if https_user:
        pair = quote(https_user, safe="") + (f":{quote(https_pass, safe='')}" if https_pass else "")
        url = url.replace("https://", f"https://{pair}@", 1)
    place = f"{cwd.rstrip('/')}/{name}" if name else cwd
    git(context, None, "clone", *words_of(opts), "--", url, place, user=user, before=git_opts, identity=identity)
    return True


def fetch(
    context: Context, cwd: str, remote: str | None = None, force: bool = False, refspecs: CommaList = (),
    opts: Words = "", git_opts: Words = "", user: str | None = None, password: NoPassword = None,
    identity: str | None = None, **ignored: Unpack[OfOutput],
) -> dict[str, Any]:  # fmt: skip
    """Fetch from a remote; what is new, changed or gone among branches and tags."""
    before = _refs(context, cwd, user)
    where = [remote] if remote else []
    git(
        context,
        cwd,
        "fetch",
        *(["--force"] if force else []),
        *words_of(opts),
        *where,
        *refspecs,
        user=user,
        before=git_opts,
        identity=identity,
    )
    after = _refs(context, cwd, user)
    said: dict[str, Any] = {}
    for ref in sorted({*before, *after}):
        kind = "tags" if ref.startswith("refs/tags/") else "branches"
        short = ref.split("/", 2)[2]
        if ref not in before:
            said.setdefault(f"new {kind}", []).append(short)
        elif ref not in after:
            said.setdefault(f"deleted {kind}", []).append(short)
        elif before[ref] != after[ref]:
            said.setdefault(f"updated {kind}", {})[short] = {"old": before[ref], "new": after[ref]}
    return said


def pull(
    context: Context, cwd: str, opts: Words = "", git_opts: Words = "", user: str | None = None,
    password: NoPassword = None, identity: str | None = None, **ignored: Unpack[OfOutput],
) -> str:  # fmt: skip
    """Fetch and merge."""
    return git(context, cwd, "pull", *words_of(opts), user=user, before=git_opts, identity=identity)


def push(
    context: Context, cwd: str, remote: str | None = None, ref: str | None = None, opts: Words = "",
    git_opts: Words = "", user: str | None = None, password: NoPassword = None, identity: str | None = None,
    **ignored: Unpack[OfOutput],
) -> str:  # fmt: skip
    """Send a ref to a remote."""
    return git(context, cwd, "push", *words_of(opts), *([remote] if remote else []), *([ref] if ref else []), user=user,
                before=git_opts, identity=identity, whole=True)  # fmt: skip


def checkout(
    context: Context, cwd: str, rev: str | None = None, force: bool = False, opts: Words = "", git_opts: Words = "",
    user: str | None = None, **ignored: Unpack[OfGit],
) -> str:  # fmt: skip
    """Check out a revision."""
    forced = ["--force"] if force else []
    return git(
        context,
        cwd,
        "checkout",
        *forced,
        *words_of(opts),
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
    opts: Words = "",
    git_opts: NotSupported = None,
    user: str | None = None,
    **ignored: Unpack[OfGit],
) -> str:
    """What git rev-parse says."""
    return git(context, cwd, "rev-parse", *words_of(opts), *([rev] if rev else []), user=user)


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
    context: Context, cwd: str, name: str, ref: str = "HEAD", message: str | None = None, opts: Words = "",
    git_opts: NotSupported = None, user: str | None = None, **ignored: Unpack[OfGit],
) -> str:  # fmt: skip
    """Make a tag; with a message an annotated one."""
    said = ["-a", "-m", message] if message else []
    return git(context, cwd, "tag", *said, *words_of(opts), "--", name, revision_of(ref), user=user)


def branch(
    context: Context,
    cwd: str,
    name: str | None = None,
    opts: Words = "",
    git_opts: Words = "",
    user: str | None = None,
    **ignored: Unpack[OfGit],
) -> bool:
    """Make or change a branch."""
    git(context, cwd, "branch", *words_of(opts), *([revision_of(name)] if name else []), user=user, before=git_opts)
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


def remotes(
    context: Context,
    cwd: str,
    user: str | None = None,
    password: NoPassword = None,
    redact_auth: bool = True,
    **ignored: Unpack[OfOutput],
) -> dict[str, dict[str, str]]:
    """The remotes, with the addresses that are fetched from and pushed to."""
    found: dict[str, dict[str, str]] = {}
    for line in git(context, cwd, "remote", "--verbose", user=user).splitlines():
        name, url, way = line.split(None, 2)
        found.setdefault(name, {})[way.strip("()")] = without_password(url) if redact_auth else url
    return found


def remote_get(
    context: Context,
    cwd: str,
    remote: str = "origin",
    user: str | None = None,
    password: NoPassword = None,
    redact_auth: bool = True,
    **ignored: Unpack[OfOutput],
) -> dict[str, str]:
    """The addresses of one remote."""
    found = remotes(context, cwd, user, redact_auth=redact_auth)
    if remote not in found:
        raise CallFailed(f"Remote '{remote}' not present in git checkout located at {cwd}")
    return found[remote]


def remote_set(
    context: Context, cwd: str, url: str, remote: str = "origin", user: str | None = None, password: NoPassword = None,
    https_user: NotSupported = None, https_pass: NotSupported = None, push_url: str | None = None,
    push_https_user: NotSupported = None, push_https_pass: NotSupported = None, **ignored: Unpack[OfOutput],
) -> dict[str, str]:  # fmt: skip
    """Give a remote this address; one that is not there is made."""
    if remote in remotes(context, cwd, user):
        git(context, cwd, "remote", "rm", remote, user=user)
    git(context, cwd, "remote", "add", "--", remote, url, user=user)
    if push_url:
        git(context, cwd, "remote", "set-url", "--push", remote, push_url, user=user)
    return remote_get(context, cwd, remote, user)


def ls_remote(
    context: Context, cwd: str | None = None, remote: str = "origin", ref: str | None = None, opts: Words = "",
    git_opts: NotSupported = None, user: str | None = None, password: NoPassword = None, identity: str | None = None,
    https_user: NotSupported = None, https_pass: NotSupported = None, **ignored: Unpack[OfOutput],
) -> Any:  # fmt: skip
    """The refs of a remote: name → commit; of one ref the same."""
    said = git(
        context, cwd, "ls-remote", *words_of(opts), "--", remote, *([ref] if ref else []), user=user, identity=identity
    )
    return {name: sha for sha, _, name in (line.partition("\t") for line in said.splitlines())}


def remote_refs(
    context: Context, url: str, heads: bool = False, tags: bool = False, user: str | None = None,
    password: NoPassword = None, identity: str | None = None, https_user: NotSupported = None,
    https_pass: NotSupported = None, ignore_retcode: NoExitCodeLog = None, output_encoding: Utf8Output = None,
    saltenv: NoTreeFile = None, **more: Any,
) -> dict[str, str]:  # fmt: skip
    """The refs of the repository at an address: name → commit."""
    only = [*(["--heads"] if heads else []), *(["--tags"] if tags else [])]
    said = git(context, None, "ls-remote", *only, "--", url, user=user, identity=identity)
    return {name: sha for sha, _, name in (line.partition("\t") for line in said.splitlines())}


def merge_base(
    context: Context, cwd: str, refs: CommaList = (), octopus: NotSupported = None, is_ancestor: NotSupported = None,
    independent: NotSupported = None, fork_point: NotSupported = None, opts: NotSupported = None,
    git_opts: NotSupported = None, user: str | None = None, password: NoPassword = None,
    ignore_retcode: NoExitCodeLog = None, output_encoding: Utf8Output = None, **more: Any,
) -> str:  # fmt: skip
    """The commit from which several revisions have parted."""
    return git(context, cwd, "merge-base", *(revision_of(one) for one in refs), user=user)


def symbolic_ref(
    context: Context, cwd: str, ref: str, value: str | None = None, opts: Words = "", git_opts: NotSupported = None,
    user: str | None = None, **ignored: Unpack[OfGit],
) -> str:  # fmt: skip
    """What a symbolic ref stands for, or have it stand for a ref."""
    return git(context, cwd, "symbolic-ref", *words_of(opts), ref, *([value] if value else []), user=user)


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
    opts: Words = "",
    git_opts: Words = "",
    user: str | None = None,
    **ignored: Unpack[OfGit],
) -> str:
    """Stage a path; what git says."""
    return git(context, cwd, "add", "--verbose", *words_of(opts), filename, user=user, before=git_opts)


def merge(
    context: Context, cwd: str, rev: str | None = None, opts: Words = "", git_opts: Words = "",
    user: str | None = None, password: NoPassword = None, identity: str | None = None, **ignored: Unpack[OfOutput],
) -> str:  # fmt: skip
    """Merge a revision into what is checked out; what git says."""
    words = [*words_of(opts), *([rev] if rev else [])]
    return git(context, cwd, "merge", *words, user=user, identity=identity, before=git_opts)


def rebase(
    context: Context,
    cwd: str,
    rev: str | None = "master",
    opts: Words = "",
    git_opts: Words = "",
    user: str | None = None,
    **ignored: Unpack[OfGit],
) -> str:
    """Put the commits of the current branch on top of a revision; what git says."""
    return git(context, cwd, "rebase", *words_of(opts), *([rev] if rev else []), user=user, before=git_opts)


def reset(
    context: Context, cwd: str, opts: Words = "", git_opts: Words = "", user: str | None = None,
    password: NoPassword = None, identity: str | None = None, *, rev: str | None = None, **ignored: Unpack[OfOutput],
) -> str:  # fmt: skip
    """Run `git reset` with these options; what git says."""
    words = [*words_of(opts), *([rev] if rev else [])]
    return git(context, cwd, "reset", *words, user=user, identity=identity, before=git_opts)


def rm(
    context: Context,
    cwd: str,
    filename: str,
    opts: Words = "",
    git_opts: Words = "",
    user: str | None = None,
    **ignored: Unpack[OfGit],
) -> str:
    """Remove a path from the work tree and from what is staged; what git says."""
    return git(context, cwd, "rm", *words_of(opts), filename, user=user, before=git_opts)


def stash(
    context: Context,
    cwd: str,
    action: str = "save",
    opts: Words = "",
    git_opts: Words = "",
    user: str | None = None,
    **ignored: Unpack[OfGit],
) -> str:
    """Put what is not committed aside, or another action of `git stash`; what git says."""
    return git(context, cwd, "stash", action, *words_of(opts), user=user, before=git_opts)


def submodule(
    context: Context, cwd: str, command: str, opts: Words = "", git_opts: Words = "", user: str | None = None,
    password: NoPassword = None, identity: str | None = None, **ignored: Unpack[OfOutput],
) -> str:  # fmt: skip
    """Run a command of `git submodule`, such as `update`; what git says."""
    return git(context, cwd, "submodule", command, *words_of(opts), user=user, identity=identity, before=git_opts)


def diff(
    context: Context, cwd: str, item1: str | None = None, item2: str | None = None, opts: Words = "",
    git_opts: Words = "", user: str | None = None, password: NoPassword = None, no_index: bool = False,
    cached: bool = False, paths: CommaList = (), output_encoding: Utf8Output = None,
) -> str:  # fmt: skip
    """What differs between two revisions, or from what is checked out; with `cached` what is staged."""
    signs = [*(["--no-index"] if no_index else []), *(["--cached"] if cached else [])]
    revisions = [revision_of(one) for one in (item1, item2) if one]
    return git(context, cwd, "diff", *signs, *words_of(opts), *revisions, *(["--", *paths] if paths else []), user=user,
               before=git_opts, good=(0, 1) if no_index else (0,))  # fmt: skip


def commit(
    context: Context, cwd: str, message: str, opts: Words = "", git_opts: Words = "", user: str | None = None,
    password: NoPassword = None, filename: str | None = None, **ignored: Unpack[OfOutput],
) -> str:  # fmt: skip
    """Commit what is staged, or a file."""
    only = ["--", filename] if filename else []
    return git(context, cwd, "commit", "-m", message, *words_of(opts), *only, user=user, before=git_opts)


def discard_local_changes(
    context: Context, cwd: str, path: str = ".", user: str | None = None, **ignored: Unpack[OfGit]
) -> str:
    """Take back what is changed in the work tree, and not staged."""
    return git(context, cwd, "checkout", "--", path, user=user)


def _refs(context: Context, cwd: str, user: str | None) -> dict[str, str]:
    said = git(
        context, cwd, "for-each-ref", "--format=%(refname) %(objectname)", "refs/remotes", "refs/tags", user=user
    )
    return dict(line.split(" ", 1) for line in said.splitlines())


FUNCTIONS: Mapping[str, Any] = {
    "add": add,
    "archive": archive,
    "branch": branch,
    "checkout": checkout,
    "clone": clone,
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
    "fetch": fetch,
    "init": init,
    "is_worktree": is_worktree,
    "list_branches": list_branches,
    "list_tags": list_tags,
    "list_worktrees": list_worktrees,
    "ls_remote": ls_remote,
    "merge": merge,
    "merge_base": merge_base,
    "pull": pull,
    "push": push,
    "rebase": rebase,
    "remote_get": remote_get,
    "remote_refs": remote_refs,
    "remote_set": remote_set,
    "remotes": remotes,
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
