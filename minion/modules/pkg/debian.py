"""pkg.*, as far as only Debian's tools answer it: files of packages, their description, selections, repositories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.arguments.types import CommaList
from minion.execution.apply_state import act, changes_of
from minion.execution.arguments import NotSupported
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.machine.plan import Completed
from minion.modules.pkg.installed import changes_between, list_pkgs

_INFO = {"name": "Package", "architecture": "Architecture", "packager": "Maintainer", "source": "source:Package",
         "version": "Version", "group": "Section", "url": "Homepage", "description": "Description",
         "install_date": "db-fsys:Last-Modified", "status": "db:Status-Status"}  # fmt: skip


def info_installed(
    context: Context, *names: str, failhard: bool = True, attr: CommaList = (), **options: Any
) -> dict[str, Any]:
    """What the package database says of these packages, or of all that are installed."""
    form = "".join(f"${{{field}}}\\x1f" for field in _INFO.values()).replace("\\x1f", "\x1f") + "\x1e"
    done = _dpkg(context, "dpkg-query", "-W", "-f", form, *_checked(names))
    if done.returncode != 0 and failhard:
        raise CallFailed(f"Error getting packages information: {done.stderr.strip()}")
    found = {}
    for row in done.stdout.split("\x1e"):
        fields = dict(zip(_INFO, row.strip("\n").split("\x1f"), strict=False))
        if fields.pop("status", "") == "installed":
            fields["install_date"] = _timestamp(fields["install_date"])
            found[fields["name"]] = {key: one for key, one in fields.items() if one and (not attr or key in attr)}
    return found


def _timestamp(seconds: str) -> str:
    """A time of dpkg's, which older ones do not tell, as ISO 8601 in UTC."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(int(seconds), tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if seconds.isdigit() else ""


def owner(context: Context, *paths: str, **options: Any) -> Any:
    """The package that a file belongs to; for several paths a dictionary."""
    found = {}
    for path in paths:
        done = _dpkg(context, "dpkg-query", "-S", path)
        if done.returncode != 0 and path.startswith("/usr/"):
            done = _dpkg(context, "dpkg-query", "-S", path.removeprefix("/usr"))
        found[path] = done.stdout.partition(":")[0] if done.returncode == 0 else ""
    return found[paths[0]] if len(paths) == 1 else found


def file_list(context: Context, *packages: str, **options: Any) -> dict[str, Any]:
    """The files of packages, all together."""
    found = file_dict(context, *packages)
    return {"errors": found["errors"], "files": sorted({one for files in found["packages"].values() for one in files})}


def file_dict(context: Context, *packages: str, **options: Any) -> dict[str, Any]:
    """The files of each package."""
    found: dict[str, Any] = {"errors": [], "packages": {}}
    for name in _checked(packages):
        done = _dpkg(context, "dpkg-query", "-L", name)
        if done.returncode != 0:
            found["errors"].append(done.stderr.strip())
        else:
            found["packages"][name] = [line for line in done.stdout.splitlines() if line.startswith("/")]
    return found


def get_selections(context: Context, pattern: str | None = None, state: str | None = None) -> dict[str, list[str]]:
    """Packages by what is wanted of them: install, hold, deinstall."""
    done = _dpkg(context, "dpkg", "--get-selections", *([pattern] if pattern else []))
    found: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        name, _, wish = line.rpartition("\t")
        if not state or wish == state:
            found.setdefault(wish, []).append(name.strip())
    return found


def show(context: Context, *names: str, **options: Any) -> dict[str, dict[str, dict[str, str]]]:
    """What the repositories say of packages: name → version → fields."""
    done = _dpkg(context, "apt-cache", "show", *_checked(names))
    found: dict[str, dict[str, dict[str, str]]] = {}
    for block in done.stdout.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and not line.startswith(" "))
        name, version = fields.pop("Package", ""), fields.pop("Version", "")
        if name and (not options.get("filter") or set(options["filter"])):
            found.setdefault(name, {})[version] = fields
    return found


def normalize_name(context: Context, name: str) -> str:
    """The name without an architecture that is this machine's own."""
    bare, _, arch = name.rpartition(":")
    native = context.machine.query(["dpkg", "--print-architecture"]).stdout.strip()
    return bare if bare and arch in (native, "all", "any") else name


def parse_arch(context: Context, name: str) -> dict[str, Any]:
    """Name and architecture, as they stand in `name:arch`."""
    bare, _, arch = name.rpartition(":")
    return {"name": bare or name, "arch": arch if bare else None}


def autoremove(context: Context, list_only: bool = False, purge: bool = False) -> Any:
    """Remove packages that nothing needs any more; with `list_only` only name them."""
    words = ["apt-get", "-y", "--purge" if purge else "-q", "autoremove"]
    if list_only:
        lines = _dpkg(context, *words, "--simulate").stdout.splitlines()
        return [line.split()[1] for line in lines if line.startswith(("Remv ", "Purg "))]
    before = list_pkgs(context)
    done = context.machine.run(words, env={"DEBIAN_FRONTEND": "noninteractive"})
    if done.returncode != 0:
        raise CallFailed(done.stderr.strip())
    return changes_between(before, list_pkgs(context))


def list_repos(context: Context, **options: Any) -> dict[str, list[dict[str, Any]]]:
    """Apt's repositories: address → what each entry says."""
    from minion.providers.pkg.apt_sources import files, sources_in

    found: dict[str, list[dict[str, Any]]] = {}
    for path in files(context.machine):
        text = context.machine.read(path).decode("utf-8", "replace")
        for one in sources_in(path, text):
            found.setdefault(one.uri, []).append(
                {
                    "file": path,
                    "comps": list(one.components),
                    "disabled": not one.enabled,
                    "enabled": one.enabled,
                    "dist": one.suite,
                    "type": one.type,
                    "uri": one.uri,
                    "line": one.line,
                    "architectures": [word for word in one.options.get("arch", "").split(",") if word],
                    "signedby": one.options.get("signed-by", ""),
                }
            )
    return found


def get_repo(context: Context, repo: str, **options: Any) -> dict[str, Any]:
    """What the entry of a repository says; empty when there is none. `repo` is its whole line."""
    from minion.providers.pkg.apt_sources import wanted_line

    wanted = wanted_line(repo)
    entries = (one for listed in list_repos(context).values() for one in listed)
    keys = (wanted.type, wanted.uri.rstrip("/"), wanted.suite)
    return next((one for one in entries if (one["type"], one["uri"].rstrip("/"), one["dist"]) == keys), {})


def mod_repo(
    context: Context,
    repo: str,
    saltenv: str = "base",
    aptkey: NotSupported = None,
    **options: Any,
) -> dict[str, Any]:
    """Have a repository be there, as the state pkgrepo.managed does."""
    made = act(context, "pkgrepo.managed", repo, saltenv=saltenv, **options)
    return {repo: dict(changes_of(made)) or get_repo(context, repo)}


def del_repo(context: Context, repo: str, **options: Any) -> str:
    """Have a repository be gone."""
    if not act(context, "pkgrepo.absent", repo, **options).changes:
        raise CallFailed(f"Repo {repo} doesn't exist in the sources.list(s)")
    return f"Repo '{repo}' has been removed"


def _checked(names: tuple[str, ...]) -> list[str]:
    bad = [one for one in names if one.startswith("-")]
    if bad:
        raise CallFailed(f"Invalid package name {bad[0]!r}")
    return list(names)


def _dpkg(context: Context, *argv: str) -> Completed:
    done = context.machine.query(list(argv))
    if done.returncode == 127:
        raise CallFailed(f"There is no {argv[0]} program: this is for Debian and its derivatives")
    return done


FUNCTIONS: Mapping[str, Any] = {
    "autoremove": autoremove,
    "del_repo": del_repo,
    "file_dict": file_dict,
    "file_list": file_list,
    "get_repo": get_repo,
    "get_selections": get_selections,
    "info_installed": info_installed,
    "list_repos": list_repos,
    "mod_repo": mod_repo,
    "normalize_name": normalize_name,
    "owner": owner,
    "parse_arch": parse_arch,
    "show": show,
    "which": owner,
}
