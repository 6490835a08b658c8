"""The state module `git`: clones that follow a remote, and settings of git.

Behaviour: doc/ref/states/all/salt.states.git. What the remote has is asked with `git ls-remote`, which changes nothing,
so that a test run can say whether there is news. Git runs with the safe defaults of the user that it runs as.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Literal, Unpack

from minion.arguments.types import Texts, Unsupported
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction, Value
from minion.states.file.paths import behind, checked
from minion.states.git.config import config_set, config_unset
from minion.states.git.present import present
from minion.states.git.repository import Repo, Tags, told, without_password
from minion.states.unused_arguments import GitOptions

_SHA = re.compile(r"[0-9a-f]{40}")
_ENV = {"GIT_TERMINAL_PROMPT": "0"}
"""Git fails where it would ask for a password."""


def latest(
    machine: Reader,
    name: str,
    *,
    target: str | None = None,
    rev: str = "HEAD",
    branch: str | None = None,
    user: str | None = None,
    identity: Texts = (),
    remote: str = "origin",
    force_reset: bool | Literal["remote-changes"] = False,
    force_clone: bool = False,
    force_checkout: bool = False,
    force_fetch: bool = False,
    submodules: bool = False,
    bare: bool = False,
    mirror: bool = False,
    depth: int | None = None,
    update_head: bool = True,
    fetch_tags: bool = True,
    sync_tags: bool = True,
    refspec_branch: str = "*",
    refspec_tag: str = "*",
    https_user: str | None = None,
    https_pass: str | None = None,
    **_: Unpack[GitOptions],
) -> Plan:
    """The clone at `target` is at `rev` of the remote. Work that would be lost is an error, unless `force_reset`."""
    repo = _repo(name, target, user, identity, https_user, https_pass)
    wanted = _remote_revision(machine, repo, rev)
    have = _clone_state(machine, repo, force_clone=force_clone)
    options = [*(["--depth", str(depth)] if depth else []), *(["--mirror"] if mirror else ["--bare"] if bare else [])]
    if have is None:
        return _cloning(repo, wanted, rev, branch, remote, options, submodules=submodules and not options)
    plain = not (bare or mirror)
    if have == wanted or not update_head:
        tags = Tags.compared(machine, repo, refspec_tag, sync=sync_tags) if fetch_tags and plain else Tags()
        return tags.plan(repo, remote)
    _safe_to_move(machine, repo, wanted, force=force_reset, discard=force_checkout, plain=plain)

    def act(machine: Machine) -> None:
        forced = ["--force"] if force_fetch else []
        fetch = ["fetch", *forced, *(["--tags"] if fetch_tags else []), *(["--depth", str(depth)] if depth else [])]
        branches = [] if refspec_branch == "*" else [_branches(refspec_branch, remote)]
        if machine.run(repo.argv("remote", "set-url", remote, repo.url), env=repo.env, runas=repo.user).returncode:
            repo.do(machine, repo.argv("remote", "add", remote, repo.url))
        repo.do(machine, repo.argv(*fetch, remote, *branches))
        if not plain:
            return
        if repo.ask(machine, "cat-file", "-e", f"{wanted}^{{commit}}") is None:
            repo.do(machine, repo.argv("fetch", *forced, remote, rev))
        repo.do(machine, repo.argv("reset", "--hard", wanted))
        if submodules:
            repo.do(machine, repo.argv("submodule", "update", "--init", "--recursive"))

    return Plan(
        changes=(Change(key="revision", old=have, new=wanted, act=act),),
        pending=f"Repository {repo.target} would be updated from {have[:7]} to {wanted[:7]}",
        done=f"{repo.target} was updated to {wanted[:7]}",
    )


def _branches(pattern: str, remote: str) -> str:
    return f"+refs/heads/{pattern}:refs/remotes/{remote}/{pattern}"


def cloned(
    machine: Reader,
    name: str,
    *,
    target: str | None = None,
    branch: str | None = None,
    user: str | None = None,
    identity: Texts = (),
    https_user: str | None = None,
    https_pass: str | None = None,
    **_: Unpack[GitOptions],
) -> Plan:
    """There is a clone at `target`, on `branch` if one is given; it does not follow the remote."""
    repo = _repo(name, target, user, identity, https_user, https_pass)
    have = _clone_state(machine, repo, force_clone=False)
    if have is None:
        rev = "HEAD" if branch is None else branch
        wanted = _remote_revision(machine, repo, rev)
        plan = _cloning(repo, wanted, rev, branch, "origin", [], submodules=False)
        return replace(plan, changes=plan.changes[:1], pending=plan.pending.removeprefix("Repository "))
    current = repo.ask(machine, "rev-parse", "--abbrev-ref", "HEAD")
    if branch is None or current == branch:
        return Plan(
            comment=f"Repository already exists at {repo.target}"
            + (f" and is checked out to branch '{branch}'" if branch else "")
        )
    act: Callable[[Machine], None] = lambda machine: _checkout(machine, repo, branch)  # noqa: E731
    return Plan(
        changes=(Change(key="branch", old=current, new=branch, act=act),),
        pending=f"Branch would be changed to '{branch}'",
        done=f"Branch changed to '{branch}'",
    )


class _DetachedUnused(GitOptions, total=False):
    """Arguments of Salt's git.detached that are ignored or refused."""

    hard_reset: Annotated[Value, Unsupported("use git.latest with force_reset")]


def detached(
    machine: Reader,
    name: str,
    *,
    rev: str,
    target: str | None = None,
    remote: str = "origin",
    user: str | None = None,
    identity: Texts = (),
    force_clone: bool = False,
    force_checkout: bool = False,
    fetch_remote: bool = True,
    submodules: bool = False,
    https_user: str | None = None,
    https_pass: str | None = None,
    **_: Unpack[_DetachedUnused],
) -> Plan:
    """The clone at `target` has a detached HEAD at `rev`, a commit, a tag or a branch of the remote."""
    repo = _repo(name, target, user, identity, https_user, https_pass)
    wanted = rev if _SHA.fullmatch(rev) else _remote_revision(machine, repo, rev)
    have = _clone_state(machine, repo, force_clone=force_clone)
    is_detached = have is not None and repo.ask(machine, "symbolic-ref", "-q", "HEAD") is None
    if have == wanted and is_detached:
        return Plan(comment="Already checked out at correct revision")

    def act(machine: Machine) -> None:
        if have is None:
            _clone(machine, repo, ["--no-checkout", "-o", remote], clear=force_clone)
        elif fetch_remote:
            repo.do(machine, repo.argv("fetch", "--tags", remote))
        repo.do(machine, repo.argv("checkout", *(["--force"] if force_checkout else []), "--detach", wanted))
        if submodules:
            repo.do(machine, repo.argv("submodule", "update", "--init", "--recursive"))

    url, out = without_password(repo.url), f"Commit ID {wanted} was checked out at {repo.target}."
    would = f"Repository {url} would be cloned to {repo.target}"
    if have is not None:
        would = f"HEAD of {repo.target} would be detached at {rev}"
    return Plan(
        changes=(Change(key="HEAD", old=have, new=wanted, act=act),),
        pending=would,
        done=f"{url} cloned to {repo.target}. {out}" if have is None else out,
    )


def _repo(
    name: str,
    target: str | None,
    user: str | None,
    identity: Sequence[str],
    https_user: str | None,
    https_pass: str | None,
) -> Repo:
    if target is None or not posixpath.isabs(target):
        raise StateFailed(f"'target' option is required, and must be an absolute path, not {target!r}")
    if not name or name.startswith("-"):
        raise StateFailed(f"{name!r} is no address of a repository")
    env = dict(_ENV)
    if identity:
        if any(key.startswith("salt://") or "'" in key for key in identity):
            raise StateFailed("identity must be the path of a private key on the machine")
        options = " ".join(f"-i '{key}'" for key in identity)
        env["GIT_SSH_COMMAND"] = f"ssh -o IdentitiesOnly=yes -o BatchMode=yes {options}"
    if https_user:
        from urllib.parse import quote

        pair = quote(https_user, safe="") + (f":{quote(https_pass, safe='')}" if https_pass else "")
        if not name.startswith("https://"):
            raise StateFailed("https_user and https_pass are for https:// addresses")
        name = name.replace("https://", f"https://{pair}@", 1)
    path = checked(target, "git")
    return Repo(url=name, target=path, user=user, env=env)


def _remote_revision(machine: Reader, repo: Repo, rev: str) -> str:
    """The commit that the remote has for a branch, a tag or HEAD; a full commit id is itself."""
    if _SHA.fullmatch(rev):
        return rev
    if rev.startswith("-"):
        raise StateFailed(f"{rev!r} is no revision")
    asked = machine.query(["git", "ls-remote", "--", repo.url], env=repo.env)
    if asked.returncode == 127:
        raise StateFailed("There is no git program: install the package git")
    if asked.returncode != 0:
        raise StateFailed(f"Failed to check remote refs: {told(asked.stderr)}")
    refs = {ref: sha for sha, _, ref in (line.partition("\t") for line in asked.stdout.splitlines())}
    names = (rev,) if rev == "HEAD" else (f"refs/heads/{rev}", f"refs/tags/{rev}^{{}}", f"refs/tags/{rev}", rev)
    found = next((refs[one] for one in names if one in refs), None)
    if found is None:
        raise StateFailed(f"No revision matching '{rev}' exists in the remote repository")
    return found


def _clone_state(machine: Reader, repo: Repo, *, force_clone: bool) -> str | None:
    """The commit of the clone's HEAD; None when there is no clone yet (an empty directory is none)."""
    _, found = behind(machine, repo.target)
    if found is None or (found.kind == "directory" and not machine.listdir(repo.target)):
        return None
    is_repo = found.kind == "directory" and (repo.ask(machine, "rev-parse", "--git-dir") or "") in (".git", ".")
    if is_repo:
        return repo.ask(machine, "rev-parse", "--verify", "-q", "HEAD") or "0" * 40
    if force_clone:
        return None
    raise StateFailed(
        f"Target '{repo.target}' exists, is non-empty and is not a git repository. Set the 'force_clone' option to "
        "True to remove this directory's contents and proceed with cloning the remote repository"
    )


def _safe_to_move(machine: Reader, repo: Repo, wanted: str, *, force: bool | str, discard: bool, plain: bool) -> None:
    if not plain or force is True:
        return
    if not discard and force != "remote-changes" and repo.ask(machine, "status", "--porcelain", "--untracked-files=no"):
        raise StateFailed(
            f"Repository {repo.target} has uncommitted changes that would be lost. Set 'force_reset' to True to force "
            "a reset"
        )
    if repo.ask(machine, "cat-file", "-e", f"{wanted}^{{commit}}") is None:
        return
    if repo.ask(machine, "merge-base", "--is-ancestor", "HEAD", wanted) is None:
        raise StateFailed(
            f"Repository {repo.target} is not an ancestor of {wanted[:7]}: its own commits would be lost. Set "
            "'force_reset' to True to force a reset"
        )


def _cloning(
    repo: Repo, wanted: str, rev: str, branch: str | None, remote: str, options: Sequence[str], *, submodules: bool
) -> Plan:
    def act(machine: Machine) -> None:
        _clone(machine, repo, [*options, "-o", remote], clear=True)
        if "--bare" in options or "--mirror" in options:
            return
        if repo.ask(machine, "rev-parse", "HEAD") != wanted:
            local = branch or rev
            named = [] if _SHA.fullmatch(local) else ["-B", local]
            repo.do(machine, repo.argv("checkout", *(named or ["--detach"]), wanted))
        if submodules:
            repo.do(machine, repo.argv("submodule", "update", "--init", "--recursive"))

    return Plan(
        changes=(
            Change(key="new", reported=f"{without_password(repo.url)} => {repo.target}", act=act),
            Change(key="revision", old=None, new=wanted, act=_nothing),
        ),
        pending=f"Repository {without_password(repo.url)} would be cloned to {repo.target}",
        done=f"{without_password(repo.url)} cloned to {repo.target}",
    )


def _clone(machine: Machine, repo: Repo, options: Sequence[str], *, clear: bool) -> None:
    found = machine.stat(repo.target)
    if clear and found is not None and (found.kind != "directory" or machine.listdir(repo.target)):
        machine.remove(repo.target)
    repo.do(machine, ["git", "clone", *options, "--", repo.url, repo.target])


def _checkout(machine: Machine, repo: Repo, branch: str) -> None:
    repo.do(machine, repo.argv("fetch", "origin"))
    repo.do(machine, repo.argv("checkout", branch))


def _nothing(machine: Machine) -> None:
    """Done by its neighbour."""


STATES: Mapping[str, StateFunction] = {
    "cloned": cloned,
    "config_set": config_set,
    "config_unset": config_unset,
    "detached": detached,
    "latest": latest,
    "present": present,
}
