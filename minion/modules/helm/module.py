"""The execution module `helm`: charts, releases and repositories by the program `helm`.

Behaviour: the module of saltext-helm 1.0.0. Where Helm fails, the function fails with its words; Salt returns them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from minion.arguments.types import AnyValue, List, Map, Texts
from minion.execution.context import Context
from minion.providers.helm.program import HelmFlags, HelmProgram, parsed, values_text
from minion.providers.helm.repositories import known_repositories, wanted_repositories

Function = Callable[..., Any]


def _said(context: Context, words: list[str], flags: HelmFlags, stdin: str | None = None) -> str:
    return HelmProgram().run(context.machine, [*words, *flags.words()], stdin=stdin)


def _structured(context: Context, words: list[str], flags: HelmFlags) -> Any:
    chosen = any(str(key).lstrip("-") == "output" for key in flags.kvflags)
    said = _said(context, words if chosen else [*words, "--output", "json"], flags)
    return parsed(said) if not chosen or "json" in flags.kvflags.values() else said


def _of_release(*words: str, structured: bool = False) -> Function:
    def call(context: Context, release: str, flags: Texts = (), kvflags: Map = {}) -> Any:  # noqa: B006
        given = HelmFlags(flags=flags, kvflags=kvflags)
        return (_structured if structured else _said)(context, [*words, release], given)

    call.__doc__ = f"""What `helm {" ".join(words)}` says of a release."""
    return call


def _of_chart(*words: str) -> Function:
    def call(context: Context, chart: str, flags: Texts = (), kvflags: Map = {}) -> str:  # noqa: B006
        return _said(context, [*words, chart], HelmFlags(flags=flags, kvflags=kvflags))

    call.__doc__ = f"""What `helm {" ".join(words)}` says of a chart."""
    return call


def _of_nothing(word: str) -> Function:
    def call(context: Context, flags: Texts = (), kvflags: Map = {}) -> str:  # noqa: B006
        return _said(context, [word], HelmFlags(flags=flags, kvflags=kvflags))

    call.__doc__ = f"""What `helm {word}` says."""
    return call


def status(
    context: Context, release: str, namespace: str | None = None, flags: Texts = (), kvflags: Map = {}  # noqa: B006
) -> Any:  # fmt: skip
    """A release as it is: its values, its manifest, and when it was made."""
    return _structured(context, ["status", release], HelmFlags(namespace, flags, kvflags))


def list_(context: Context, namespace: str | None = None, flags: Texts = (), kvflags: Map = {}) -> Any:  # noqa: B006
    """The releases of a namespace."""
    return _structured(context, ["list"], HelmFlags(namespace, flags, kvflags))


def _installed(
    context: Context, words: list[str], values: Any, version: str | None, settings: Texts, flags: HelmFlags
) -> bool:
    text = values_text(context.machine, values, "base")
    more = [*(["--version", version] if version else []), *(["--values", "-"] if text is not None else [])]
    more += [word for one in settings for word in ("--set", one)]
    _said(context, [*words, *more], flags, text)
    return True


def install(
    context: Context, release: str, chart: str, values: AnyValue = None, version: str | None = None,
    namespace: str | None = None, set: Texts = (), flags: Texts = (), kvflags: Map = {},  # noqa: A002, B006
) -> bool:  # fmt: skip
    """Install a chart as a release. `values`: a mapping, a file of the minion or of `salt://`, or a list of them."""
    given = HelmFlags(namespace, flags, kvflags)
    return _installed(context, ["install", release, chart], values, version, set, given)


def upgrade(
    context: Context, release: str, chart: str, values: AnyValue = None, version: str | None = None,
    namespace: str | None = None, set: Texts = (), flags: Texts = (), kvflags: Map = {},  # noqa: A002, B006
) -> bool:  # fmt: skip
    """Upgrade a release to a chart. `values`: as of `helm.install`."""
    given = HelmFlags(namespace, flags, kvflags)
    return _installed(context, ["upgrade", release, chart], values, version, set, given)


def uninstall(
    context: Context, release: str, namespace: str | None = None, flags: Texts = (), kvflags: Map = {}  # noqa: B006
) -> bool:  # fmt: skip
    """Take a release away, with what it has made."""
    _said(context, ["uninstall", release], HelmFlags(namespace, flags, kvflags))
    return True


def rollback(
    context: Context, release: str, revision: int, namespace: str | None = None, flags: Texts = (),
    kvflags: Map = {},  # noqa: B006
) -> bool:  # fmt: skip
    """Have a release be as it was in an earlier revision."""
    _said(context, ["rollback", release, str(revision)], HelmFlags(namespace, flags, kvflags))
    return True


def template(
    context: Context, name: str, chart: str, values: AnyValue = None, output_dir: str | None = None,
    set: Texts = (), flags: Texts = (), kvflags: Map = {},  # noqa: A002, B006
) -> str:  # fmt: skip
    """The manifest that a chart would make; with `output_dir` written there."""
    text = values_text(context.machine, values, "base")
    words = ["template", name, chart, *(["--values", "-"] if text is not None else [])]
    words += [word for one in set for word in ("--set", one)]
    words += ["--output-dir", output_dir] if output_dir else []
    return _said(context, words, HelmFlags(flags=flags, kvflags=kvflags), text)


def repo_list(context: Context, namespace: str | None = None, flags: Texts = (), kvflags: Map = {}) -> Any:  # noqa: B006
    """The repositories that Helm knows: name and URL of each."""
    known = known_repositories(context.machine, HelmProgram(), HelmFlags(namespace, flags, kvflags))
    return [{"name": name, "url": url} for name, url in known.items()]


def repo_add(
    context: Context, name: str, url: str, namespace: str | None = None, flags: Texts = (), kvflags: Map = {}  # noqa: B006
) -> bool:  # fmt: skip
    """Have Helm know a repository."""
    _said(context, ["repo", "add", name, url], HelmFlags(namespace, flags, kvflags))
    return True


def repo_remove(
    context: Context, name: str, namespace: str | None = None, flags: Texts = (), kvflags: Map = {}  # noqa: B006
) -> bool:  # fmt: skip
    """Have Helm forget a repository."""
    _said(context, ["repo", "remove", name], HelmFlags(namespace, flags, kvflags))
    return True


def repo_update(
    context: Context, namespace: str | None = None, flags: Texts = (), kvflags: Map = {}  # noqa: B006
) -> bool:  # fmt: skip
    """Have Helm ask its repositories what they offer."""
    _said(context, ["repo", "update"], HelmFlags(namespace, flags, kvflags))
    return True


def repo_manage(
    context: Context, present: List = [], absent: Texts = (), prune: bool = False,  # noqa: B006
    namespace: str | None = None, flags: Texts = (), kvflags: Map = {},  # noqa: B006
) -> dict[str, Any]:  # fmt: skip
    """Have Helm know repositories and forget others; what was added, removed, there and not there."""
    given = HelmFlags(namespace, flags, kvflags)
    wanted, known = wanted_repositories(present), known_repositories(context.machine, HelmProgram(), given)
    done: dict[str, Any] = {"present": [], "added": [], "absent": [], "removed": [], "failed": []}
    for name, url in wanted.items():
        there = known.get(name) == url
        if not there:
            repo_add(context, name, url, namespace, (*flags, *(("force-update",) if name in known else ())), kvflags)
        done["present" if there else "added"].append({"name": name, "url": url})
    for name in known.keys() - wanted.keys():
        if prune or name in absent:
            repo_remove(context, name, namespace)
            done["removed"].append(name)
        else:
            done["present"].append({"name": name, "url": known[name]})
    done["absent"] = [name for name in absent if name not in known]
    return done


def search_repo(context: Context, keyword: str, flags: Texts = (), kvflags: Map = {}) -> Any:  # noqa: B006
    """Charts of the repositories that Helm knows, by a word."""
    return _structured(context, ["search", "repo", keyword], HelmFlags(flags=flags, kvflags=kvflags))


def pull(context: Context, pkg: str, flags: Texts = (), kvflags: Map = {}) -> str:  # noqa: B006
    """Fetch a chart, as an archive or with the flag `untar` unpacked."""
    return _said(context, ["pull", pkg], HelmFlags(flags=flags, kvflags=kvflags))


def lint(
    context: Context, path: str, values: AnyValue = None, namespace: str | None = None, set: Texts = (),  # noqa: A002
    flags: Texts = (), kvflags: Map = {},  # noqa: B006
) -> str:  # fmt: skip
    """What Helm has to say against a chart; it fails where it could not be installed."""
    text = values_text(context.machine, values, "base")
    words = ["lint", path, *(["--values", "-"] if text is not None else [])]
    words += [word for one in set for word in ("--set", one)]
    return _said(context, words, HelmFlags(namespace, flags, kvflags), text)


FUNCTIONS: Mapping[str, Any] = {
    "dependency_build": _of_chart("dependency", "build"),
    "dependency_list": _of_chart("dependency", "list"),
    "dependency_update": _of_chart("dependency", "update"),
    "env": _of_nothing("env"),
    "get_all": _of_release("get", "all"),
    "get_hooks": _of_release("get", "hooks"),
    "get_manifest": _of_release("get", "manifest"),
    "get_notes": _of_release("get", "notes"),
    "get_values": _of_release("get", "values", structured=True),
    "history": _of_release("history", structured=True),
    "install": install,
    "lint": lint,
    "list": list_,
    "package": _of_chart("package"),
    "pull": pull,
    "repo_add": repo_add,
    "repo_list": repo_list,
    "repo_manage": repo_manage,
    "repo_remove": repo_remove,
    "repo_update": repo_update,
    "rollback": rollback,
    "search_repo": search_repo,
    "show_all": _of_chart("show", "all"),
    "show_chart": _of_chart("show", "chart"),
    "show_readme": _of_chart("show", "readme"),
    "show_values": _of_chart("show", "values"),
    "status": status,
    "template": template,
    "test": _of_release("test"),
    "uninstall": uninstall,
    "upgrade": upgrade,
    "version": _of_nothing("version"),
}
