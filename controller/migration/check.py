"""`saltern migrate check`: everything that a folder like /etc/salt configures, and the trees that it names.

Called by the command. It reads files and git remotes that it is asked to fetch, and writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from controller.migration.items import CheckReport, Item, Judgement, counted
from controller.migration.options import ConvertedOptions, convert
from controller.migration.salt_files import SaltFolder
from controller.migration.trees import TreeFindings, TreeKind, look_at
from controller.offline.show import GitLayers
from controller.offline.trees import snapshot_of
from options.bounded_files import FileRefused
from options.document import Option

_USUAL: Mapping[TreeKind, tuple[str, ...]] = {"states": ("/srv/salt",), "pillar": ("/srv/pillar",)}
"""Where Salt looks when nothing says where; folders that are not there are left out."""
_ROOTS: Mapping[TreeKind, str] = {"states": "file_roots", "pillar": "pillar_roots"}

_OTHER_FILES: tuple[tuple[str, str, Judgement], ...] = (
    ("roster", "salt-ssh", Judgement("different", "copy it to the configuration of the controller, for `saltern ssh`",
                                     "docs/ssh.md")),
    *(
        (name, "salt-cloud", Judgement("different", "copy it to the configuration of the controller, for "
                                       "`saltern cloud`", "docs/cloud.md"))
        for name in ("cloud", "cloud.providers", "cloud.providers.d", "cloud.profiles", "cloud.profiles.d",
                     "cloud.maps.d", "cloud.deploy.d")
    ),
    ("cloud.conf.d", "salt-cloud", Judgement("no counterpart", "it is not read: write it into the file `cloud`",
                                             "docs/cloud.md")),
    *(
        (name, "salt-proxy", Judgement("no counterpart", "there are no proxy minions", "docs/limitations.md"))
        for name in ("proxy", "proxy.d", "proxytab")
    ),
    ("grains", "static grains", Judgement("works")),
    ("minion_id", "id of the minion", Judgement("works")),
    ("gpgkeys", "keys of encrypted pillar", Judgement("different", "copy them to /etc/saltern/gpgkeys, or name them "
                                                      "with gpg_keydir", "docs/configuration.md")),
    ("pki", "keys of master and minions", Judgement("different", "minions make keys of another kind: accept them anew, "
                                                    "by autosign_file or enrolment tokens", "docs/keys.md")),
)  # fmt: skip
"""Files beside the configuration -> what they are, and what is said of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """What a folder like /etc/salt configures, as it is here."""

    folder: SaltFolder
    master: ConvertedOptions
    minion: ConvertedOptions
    roots: Mapping[TreeKind, Mapping[str, list[str]]]
    """Folders of this machine, by tree and saltenv."""
    has: tuple[str, ...]
    """`master` and `minion`, as far as there are such configurations."""
    options: Mapping[str, Mapping[str, Option]] = field(default_factory=dict, repr=False)
    """As they were read, by configuration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A report, and what the converted files are made of."""

    report: CheckReport
    configuration: Configuration
    trees: TreeFindings


def read_configuration(path: Path, root: Path = Path("/")) -> Configuration:
    """The configuration of a folder.

    Args:
        path: a folder like /etc/salt.
        root: put before absolute paths that the configuration names, for a copy of a machine.
    """
    folder = SaltFolder(path, root)
    options = {"master": folder.options("master"), "minion": folder.options("minion")}
    has = tuple(kind for kind in ("master", "minion") if options[kind] or (path / kind).exists())
    local = not options["master"] and options["minion"].get("file_client", Option("", "")).value == "local"
    of_trees = options["minion"] if local else options["master"]
    roots = {kind: _roots(kind, of_trees, root) for kind in _ROOTS}

    def brought(kind: str, name: str) -> bool:
        folders = [each for found in roots["states"].values() for each in found]
        extensions = options["master"].get("extension_modules", Option("", "")).value
        places = [Path(folder, f"_{kind}", f"{name}.py") for folder in folders]
        places += [_below(root, extensions) / kind / f"{name}.py"] if isinstance(extensions, str) and extensions else []
        return any(place.is_file() for place in places)

    master, minion = (convert(kind, options[kind], brought) for kind in ("master", "minion"))
    if "master" in has:
        _add_usual_roots(master, options["master"], root)
    return Configuration(folder=folder, master=master, minion=minion, roots=roots, has=has, options=options)


def check(
    configuration: Configuration, git_files: GitLayers = (), git_pillar: GitLayers = (), *, root: Path
) -> Checked:
    """The report about a configuration and the trees that it names.

    Args:
        configuration: as it was read.
        git_files: layers of states that its git remotes have given.
        git_pillar: of pillar.
        root: put before absolute paths of reactors.
    """
    folder, roots = configuration.folder, configuration.roots
    trees = look_at(
        {
            "states": snapshot_of(existing(roots["states"]), git_files),
            "pillar": snapshot_of(existing(roots["pillar"]), git_pillar),
        },
        dict(_reactor_files(configuration, root)),
    )
    items = [*configuration.master.items, *configuration.minion.items, *_other_files(folder)]
    items += _missing_folders(roots)
    items += _called(configuration, trees)
    items += trees.items
    report = CheckReport(
        folder=str(folder.path),
        items=tuple(items),
        counts=counted(items),
        not_read=(*folder.not_read, *trees.not_read, *not_fetched(configuration, git_files, git_pillar)),
    )
    return Checked(report=report, configuration=configuration, trees=trees)


def _roots(kind: TreeKind, options: Mapping[str, Option], root: Path) -> dict[str, list[str]]:
    option = options.get(_ROOTS[kind])
    if option is None or not isinstance(option.value, dict):
        found = [str(_below(root, folder)) for folder in _USUAL[kind] if _below(root, folder).is_dir()]
        return {"base": found} if found else {}
    roots: dict[str, list[str]] = {}
    for saltenv, folders in option.value.items():
        listed = folders if isinstance(folders, list) else [folders]
        roots[str(saltenv)] = [str(_below(root, each)) for each in listed if isinstance(each, str) and each[:1] == "/"]
    return roots


def _add_usual_roots(master: ConvertedOptions, options: Mapping[str, Option], root: Path) -> None:
    """Salt's default folders are none of ours: they are written where Salt would have taken them."""
    for kind, name in _ROOTS.items():
        folders = [folder for folder in _USUAL[kind] if _below(root, folder).is_dir()]
        if name not in options and folders:
            master.taken[name] = {"base": folders}


def _below(root: Path, path: str) -> Path:
    return root / path.lstrip("/")


def existing(roots: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """The folders of a tree that are there, by saltenv."""
    return {saltenv: [folder for folder in folders if Path(folder).is_dir()] for saltenv, folders in roots.items()}


def _called(configuration: Configuration, trees: TreeFindings) -> Iterator[Item]:
    """Functions that jobs and the mine call."""
    master, minion = configuration.options["master"], configuration.options["minion"]
    for place, name in _functions_of_jobs(master.get("schedule")):
        yield Item.of("runner", name, place, trees.judge.of_controller("runner", name))
    for place, name in (*_functions_of_jobs(minion.get("schedule")), *_functions_of_mine(minion.get("mine_functions"))):
        yield Item.of("function", name, place, trees.judge.function(name, compiled=False))


def _functions_of_jobs(option: Option | None) -> Iterator[tuple[str, str]]:
    for name, job in option.value.items() if option is not None and isinstance(option.value, dict) else ():
        function = job.get("function") if isinstance(job, dict) else None
        for each in function if isinstance(function, list) else [function]:
            if option is not None and isinstance(each, str):
                yield option.at((str(name), "function")), each


def _functions_of_mine(option: Option | None) -> Iterator[tuple[str, str]]:
    """Each has the name of its function, or names it as `mine_function`."""
    for name, given in option.value.items() if option is not None and isinstance(option.value, dict) else ():
        named = (
            [each["mine_function"] for each in given if isinstance(each, dict) and "mine_function" in each]
            if (isinstance(given, list))
            else []
        )
        if option is not None:
            yield option.at((str(name),)), str(named[0] if named else name)


def _missing_folders(roots: Mapping[TreeKind, Mapping[str, list[str]]]) -> Iterator[Item]:
    for kind, of_envs in roots.items():
        for saltenv, folders in of_envs.items():
            for folder in folders:
                if not Path(folder).is_dir():
                    said = Judgement("different", "it is not there, and counts as empty", "docs/configuration.md")
                    yield Item.of("folder", f"{_ROOTS[kind]} {saltenv}: {folder}", "", said)


def _other_files(folder: SaltFolder) -> Iterator[Item]:
    for name, kind, said in _OTHER_FILES:
        if folder.has(name):
            yield Item.of("file", f"{name} ({kind})", str(folder.path / name), said)


def _reactor_files(configuration: Configuration, root: Path) -> Iterator[tuple[str, str]]:
    """Path -> text of the SLS outside the trees that answer events."""
    option = configuration.options["master"].get("reactor")
    outside = SaltFolder(root)
    trees = [folder for folders in configuration.roots["states"].values() for folder in folders]
    for path in dict.fromkeys(_paths(option.value if option is not None else None, root)):
        if any(path.is_relative_to(folder) for folder in trees):
            continue  # it is looked at with its tree
        try:
            yield str(path), outside.text(path)
        except FileRefused as refused:
            configuration.folder.not_read.append(str(refused))


def _paths(reactor: Any, root: Path) -> Iterator[Path]:
    """Files outside the trees; a pattern is each file that it matches, as in Salt."""
    for entry in reactor if isinstance(reactor, list) else []:
        for given in entry.values() if isinstance(entry, dict) else []:
            for path in given if isinstance(given, list) else [given]:
                if not isinstance(path, str) or path[:1] != "/":
                    continue
                pattern = path.lstrip("/")
                found = sorted(root.glob(pattern)) if "*" in pattern and "**" not in pattern else []
                yield from found or [_below(root, path)]


def cache_of(configuration: Configuration, root: Path) -> Path:
    """The cache of the Salt master of a configuration, where it keeps the grains of its minions.

    Args:
        configuration: as it was read.
        root: put before absolute paths.
    """
    given = {name: option.value for name, option in configuration.options["master"].items()}
    cachedir = given.get("cachedir") or "/var/cache/salt/master"
    root_dir = given.get("root_dir") or "/"
    if not isinstance(cachedir, str) or not isinstance(root_dir, str):
        cachedir, root_dir = "/var/cache/salt/master", "/"
    # As in Salt: what does not lie below root_dir already is put there.
    inside = cachedir if cachedir.startswith(root_dir) else f"{root_dir}/{cachedir}"
    return _below(root, inside)


def not_fetched(configuration: Configuration, git_files: GitLayers, git_pillar: GitLayers) -> Iterator[str]:
    """Git remotes whose trees are not there, each with what to do."""
    if configuration.master.taken.get("gitfs_remotes") and not git_files:
        yield "the trees of gitfs_remotes: --fetch looks into them"
    pillars = configuration.master.taken.get("ext_pillar") or []
    if any(isinstance(each, dict) and "git" in each for each in pillars) and not git_pillar:
        yield "the trees of git_pillar: --fetch looks into them"
