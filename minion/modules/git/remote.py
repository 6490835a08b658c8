"""git.*, as far as another repository is asked: clones, fetches, pushes, and the remotes of a clone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from minion.arguments.commands import Options
from minion.arguments.types import CommaList
from minion.execution.arguments import NoExitCodeLog, NoPassword, NoTreeFile, NotSupported, Utf8Output
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.modules.git.run import OfOutput, git, without_password


def clone(
    context: Context, cwd: str, url: str, name: str | None = None, opts: Options = (), git_opts: Options = (),
    user: str | None = None, password: NoPassword = None, identity: str | None = None, https_user: str | None = None,
    https_pass: str | None = None, **ignored: Unpack[OfOutput],
) -> bool:  # fmt: skip
    """Clone a repository to a path, or below it under a name."""
    from urllib.parse import quote

    if https_user:
        pair = quote(https_user, safe="") + (f":{quote(https_pass, safe='')}" if https_pass else "")
        url = url.replace("https://", f"https://{pair}@", 1)
    place = f"{cwd.rstrip('/')}/{name}" if name else cwd
    git(context, None, "clone", *opts, "--", url, place, user=user, before=git_opts, identity=identity)
    return True


def fetch(
    context: Context, cwd: str, remote: str | None = None, force: bool = False, refspecs: CommaList = (),
    opts: Options = (), git_opts: Options = (), user: str | None = None, password: NoPassword = None,
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
        *opts,
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
    context: Context, cwd: str, opts: Options = (), git_opts: Options = (), user: str | None = None,
    password: NoPassword = None, identity: str | None = None, **ignored: Unpack[OfOutput],
) -> str:  # fmt: skip
    """Fetch and merge."""
    return git(context, cwd, "pull", *opts, user=user, before=git_opts, identity=identity)


def push(
    context: Context, cwd: str, remote: str | None = None, ref: str | None = None, opts: Options = (),
    git_opts: Options = (), user: str | None = None, password: NoPassword = None, identity: str | None = None,
    **ignored: Unpack[OfOutput],
) -> str:  # fmt: skip
    """Send a ref to a remote."""
    return git(context, cwd, "push", *opts, *([remote] if remote else []), *([ref] if ref else []), user=user,
                before=git_opts, identity=identity, whole=True)  # fmt: skip


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
    context: Context, cwd: str | None = None, remote: str = "origin", ref: str | None = None, opts: Options = (),
    git_opts: NotSupported = None, user: str | None = None, password: NoPassword = None, identity: str | None = None,
    https_user: NotSupported = None, https_pass: NotSupported = None, **ignored: Unpack[OfOutput],
) -> Any:  # fmt: skip
    """The refs of a remote: name → commit; of one ref the same."""
    said = git(context, cwd, "ls-remote", *opts, "--", remote, *([ref] if ref else []), user=user, identity=identity)
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


def _refs(context: Context, cwd: str, user: str | None) -> dict[str, str]:
    said = git(
        context, cwd, "for-each-ref", "--format=%(refname) %(objectname)", "refs/remotes", "refs/tags", user=user
    )
    return dict(line.split(" ", 1) for line in said.splitlines())


FUNCTIONS: Mapping[str, Any] = {
    "clone": clone,
    "fetch": fetch,
    "ls_remote": ls_remote,
    "pull": pull,
    "push": push,
    "remote_get": remote_get,
    "remote_refs": remote_refs,
    "remote_set": remote_set,
    "remotes": remotes,
}
