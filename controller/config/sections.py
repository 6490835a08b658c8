"""Groups of the controller's options, each as the part of the controller takes it that works by it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from options.document import Option
from options.kinds import Flag, Folder, Items, Names, Prepare, TextMapping, Wanted
from options.vault import BadVault, VaultSettings

if TYPE_CHECKING:
    from gitfs.config.settings import IgnoredFiles, RemoteSettings


def _vault(value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise ValueError("a mapping")
    try:
        parsed = VaultSettings.parse(value)
    except BadVault as error:
        raise ValueError(f"a vault that can be used ({error})") from error
    return parsed


def _roots(value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise ValueError
    roots = {env: [folders] if isinstance(folders, str) else folders for env, folders in value.items()}
    if not all(isinstance(folders, list) and all(_is_folder(each) for each in folders) for folders in roots.values()):
        raise ValueError
    return roots


def _is_folder(value: object) -> bool:
    return isinstance(value, str) and value.startswith("/")


def _folders(value: Any) -> Any:
    if not isinstance(value, list):
        raise ValueError("a list")
    if not all(_is_folder(each) and "\0" not in each for each in value):
        raise ValueError("a list of absolute paths")
    return value


FileRoots: TypeAlias = Annotated[
    Mapping[str, tuple[str, ...]],
    Wanted("a mapping of saltenvs to lists of absolute folders, like `base: [/srv/salt]`"),
    Prepare(_roots),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PortOptions:
    """What the ports of a compile are made of (`controller.compilation.compile_ports`): keys, a vault, plugins."""

    gpg_keydir: Folder = ""
    """Empty: nothing is decrypted."""
    vault: Annotated[VaultSettings | None, Prepare(_vault)] = field(default=None, repr=False)
    extension_modules: Folder = ""
    module_dirs: Annotated[tuple[str, ...], Prepare(_folders)] = ()
    engines_dirs: Annotated[tuple[str, ...], Prepare(_folders)] = ()
    """Folders that have engines in them, without a folder `engines` below; they go before those of `module_dirs`."""
    nodegroups: TextMapping = field(default_factory=dict)
    configuration: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """All options as written, which the administrator's modules see as `__opts__`; empty without such modules."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RendererOptions:
    """Which renderers trees may use; templates see them in `opts`."""

    allow_py_renderer: Flag = True
    renderer_whitelist: Names = ()
    renderer_blacklist: Names = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SdbProfile:
    """A profile of `sdb.get`: an option of any name that is a mapping with a `driver`."""

    driver: str
    files: tuple[str, ...] = ()
    """Of the driver yaml."""
    strategy: str = "smart"
    """How its files are merged."""
    merge_lists: bool = False
    gpg: bool = False
    """Whether its values may be encrypted."""
    keys: tuple[str, ...] = ()
    """Of env and of clouds: globs of what may be read."""
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Of clouds: which account is asked, and as whom."""

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> SdbProfile:
        """A profile as it is written; what is missing or of another kind counts as not set, as in Salt."""
        merge = given.get("merge") if isinstance(given.get("merge"), Mapping) else {}
        return cls(
            driver=str(given["driver"]),
            files=_texts(given.get("files")),
            strategy=(merge or {}).get("strategy", "smart"),
            merge_lists=bool((merge or {}).get("merge_lists")),
            gpg=bool(given.get("gpg")),
            keys=_texts(given.get("keys")),
            options={str(key): value for key, value in given.items() if key not in ("driver", "keys")},
        )


def is_profile(value: Any) -> bool:
    """Whether an option is a profile of sdb."""
    return isinstance(value, Mapping) and isinstance(value.get("driver"), str)


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(str(each) for each in value) if isinstance(value, list | tuple) else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GitfsOptions:
    """The options of gitfs, read by gitfs."""

    file_remotes: tuple[RemoteSettings, ...]
    pillar_remotes: tuple[RemoteSettings, ...]
    pillar_includes: bool
    backends: tuple[str, ...]
    ignored: IgnoredFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeOptions:
    """Where trees come from: folders, and remotes as they are written, which gitfs reads when it is needed."""

    file_roots: FileRoots = field(default_factory=dict)
    pillar_roots: FileRoots = field(default_factory=dict)
    remotes: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """`gitfs_*`, `git_pillar_*`, `ext_pillar` and what says how trees lie over each other."""
    positions: Mapping[str, Option] = field(default_factory=dict, repr=False)
    """The same, with the places where they stand; empty of options that are in no file."""

    def git(self) -> GitfsOptions:
        """What gitfs makes of `remotes`. Raises BadRemoteSettings."""
        # gitfs is loaded by the verbs that need it alone, as most of the command line does not.
        from gitfs.config.remotes import backends, file_remotes, ignored_files, pillar_includes, pillar_remotes

        return GitfsOptions(
            file_remotes=file_remotes(self.remotes),
            pillar_remotes=pillar_remotes(self.remotes),
            pillar_includes=pillar_includes(self.remotes),
            backends=backends(self.remotes),
            ignored=ignored_files(self.remotes),
        )


GIT_LISTS: Mapping[str, Any] = {"gitfs_remotes": Items, "ext_pillar": Items}
"""Options of gitfs whose kind is known here."""
GIT_PREFIXES = ("gitfs_", "git_pillar_", "fileserver_backend", "file_ignore_glob", "file_ignore_regex")
"""Options that gitfs knows begin so."""
