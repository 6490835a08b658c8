"""Which ref of a remote is which saltenv: Salt's mapping, as pure functions of the settings and the live refs.

Called by `gitfs.source`. Follows
https://docs.saltproject.io/en/latest/topics/tutorials/gitfs.html#branches-environments-and-top-files, with one
difference: environments come from refs and settings alone, and never from the name that somebody asks for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gitfs.config.settings import DEFAULT_BASES, RemoteSettings, prepared_name

_HEX = re.compile(r"[0-9a-f]{7,64}\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refs:
    """What of a remote may be served."""

    heads: Mapping[str, str] = field(default_factory=dict)
    """Branch -> commit."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Tag -> commit."""
    commits: Mapping[str, str] = field(default_factory=dict)
    """Commit id as the settings write it -> the whole id, for those that the mirror has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SaltenvSource:
    """What a remote shows in one saltenv."""

    ref: str
    commit: str
    root: str
    mountpoint: str


def base_branch(base: str | None, branches: Collection[str]) -> str | None:
    """The branch that is the saltenv `base`: the one that is set, or the first of `main` and `master` there is."""
    candidates = DEFAULT_BASES if base is None else (base,)
    return next((branch for branch in candidates if branch in branches), None)


def commit_ids(settings: RemoteSettings) -> set[str]:
    """Names in the settings that may be commit ids."""
    if "sha" not in settings.ref_types:
        return set()
    named = [settings.base, settings.branch, settings.all_saltenvs, settings.fallback]
    return {name for name in (*named, *(each.ref for each in settings.saltenvs)) if name and _HEX.match(name)}


def pinned_refs(settings: RemoteSettings) -> tuple[str | None, ...]:
    """Refs without which this remote has nothing to show; they never go by a remote's losing them. None: the base."""
    if settings.branch is not None:
        return (settings.branch,)
    return (settings.base, *(name for name in (settings.all_saltenvs, settings.fallback) if name))


def own_saltenvs(settings: RemoteSettings, refs: Refs) -> set[str]:
    """The environments that this remote brings into being."""
    if settings.branch is not None or settings.only_base:
        return set(_of_one_branch(settings, refs))
    base = _base(settings, refs)
    mapped: dict[str, list[str]] = {}
    for each in settings.saltenvs:
        if each.ref:
            mapped.setdefault(each.ref, []).append(each.saltenv)
    base_is_mapped = any(each.saltenv == "base" and each.ref for each in settings.saltenvs)
    found = {"base"} if base in refs.commits else set()
    for name in (*_listed(settings, "branch", refs.heads), *_listed(settings, "tag", refs.tags)):
        if name in mapped:
            found.update(mapped[name])
        elif name == base and not base_is_mapped:
            found.add("base")
        elif not settings.disable_saltenv_mapping:
            found.add(name)
    found |= {env for name, envs in mapped.items() if name in refs.commits for env in envs}
    return {env for env in found if is_exposed(env, settings.saltenv_whitelist, settings.saltenv_blacklist)}


def environments(settings: RemoteSettings, refs: Refs, known: Iterable[str]) -> dict[str, SaltenvSource]:
    """Saltenv -> what this remote shows in it.

    Args:
        settings: the remote's.
        refs: its live refs.
        known: environments that there are: its own, and those that other remotes and local folders bring, which
            `all_saltenvs` and `fallback` fill.
    """
    if settings.branch is not None or settings.only_base:
        return _of_one_branch(settings, refs)
    found = {env: _source_of(settings, refs, env) for env in sorted(known)}
    return {env: source for env, source in found.items() if source is not None}


def is_exposed(saltenv: str, whitelist: Sequence[str], blacklist: Sequence[str]) -> bool:
    """Salt's white- and blacklists: names, globs or regular expressions."""
    if whitelist and not any(prepared_name(each)(saltenv) for each in whitelist):
        return False
    return not any(prepared_name(each)(saltenv) for each in blacklist)


def _of_one_branch(settings: RemoteSettings, refs: Refs) -> dict[str, SaltenvSource]:
    """`BRANCH URL` of git_pillar: one environment."""
    name = _base(settings, refs) if settings.branch is None else settings.branch
    if name is None:
        return {}
    is_base = settings.only_base or base_branch(settings.base, [name]) == name
    saltenv = settings.saltenv or ("base" if is_base else name)
    for ref in filter(None, (name, settings.fallback)):
        if commit := commit_of(settings, refs, ref):
            return {saltenv: SaltenvSource(ref=ref, commit=commit, root=settings.root, mountpoint=settings.mountpoint)}
    return {}


def _source_of(settings: RemoteSettings, refs: Refs, saltenv: str) -> SaltenvSource | None:
    if not is_exposed(saltenv, settings.saltenv_whitelist, settings.saltenv_blacklist):
        return None
    own = next((each for each in settings.saltenvs if each.saltenv == saltenv), None)
    wanted = _ref_of(settings, refs, saltenv, own.ref if own else None)
    for name in (wanted, settings.fallback):
        commit = commit_of(settings, refs, name) if wanted and name else None
        if name and commit:
            root = own.root if own and own.root is not None else settings.root
            mountpoint = own.mountpoint if own and own.mountpoint is not None else settings.mountpoint
            return SaltenvSource(ref=name, commit=commit, root=root, mountpoint=mountpoint)
    return None


def _ref_of(settings: RemoteSettings, refs: Refs, saltenv: str, own: str | None) -> str | None:
    if settings.all_saltenvs:
        return settings.all_saltenvs
    if saltenv == "base":
        return own or _base(settings, refs)
    return own if settings.disable_saltenv_mapping else own or saltenv


def _base(settings: RemoteSettings, refs: Refs) -> str | None:
    names = (*_listed(settings, "branch", refs.heads), *_listed(settings, "tag", refs.tags), *refs.commits)
    return base_branch(settings.base, names) or settings.base or DEFAULT_BASES[0]


def commit_of(settings: RemoteSettings, refs: Refs, name: str) -> str | None:
    """The commit of a ref, looked for as branch, tag and commit id in the order of `ref_types`."""
    kinds = {"branch": refs.heads, "tag": refs.tags, "sha": refs.commits}
    return next((found for kind in settings.ref_types if (found := kinds[kind].get(name))), None)


def _listed(settings: RemoteSettings, kind: str, names: Mapping[str, str]) -> Mapping[str, str]:
    return names if kind in settings.ref_types else {}
