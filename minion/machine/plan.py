"""The contract of built-in states: a state function looks at the machine and returns a `Plan`; it changes nothing.

    def managed(machine: Reader, name: str, *, contents: str | None = None, mode: str | None = None, ...) -> Plan: ...

`minion.engine.engine` stops there under test=True. Otherwise it performs the plan's acts in order, handing each the
`Machine` (the only means to write), and then asks for the plan again: what is not empty then is reported as not
convergent. So the prediction and the act are the same object, and a state under test has nothing to write with.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol, TypedDict, Unpack

from highstate.records import dataclass

Value = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """What came of a command."""

    returncode: int
    stdout: str
    stderr: str
    pid: int = 0
    timed_out: bool = False


@dataclass(frozen=True, slots=True)
class FileStat:
    """What lstat says of a path, as far as states care. Names and octal digits are made when somebody asks for them:
    most plans do not, and each costs more than the lstat."""

    found: os.stat_result
    target: str = ""
    """Of a symlink."""

    @property
    def kind(self) -> str:
        """`file`, `directory`, `symlink` or `other`."""
        return _KINDS.get(stat.S_IFMT(self.found.st_mode), "other")

    @property
    def mode(self) -> str:
        """Four octal digits as Salt writes them: `0644`."""
        return f"{stat.S_IMODE(self.found.st_mode):04o}"

    @property
    def uid(self) -> int:
        """Number of the owner."""
        return self.found.st_uid

    @property
    def gid(self) -> int:
        """Number of the group."""
        return self.found.st_gid

    @property
    def user(self) -> str:
        """Name of the owner; the number where it has none."""
        import pwd

        try:
            return pwd.getpwuid(self.uid).pw_name
        except KeyError:
            return str(self.uid)

    @property
    def group(self) -> str:
        """Name of the group; the number where it has none."""
        import grp

        try:
            return grp.getgrgid(self.gid).gr_name
        except KeyError:
            return str(self.gid)

    @property
    def size(self) -> int:
        """Bytes."""
        return self.found.st_size

    @property
    def inode(self) -> tuple[int, int]:
        """Device and number: two names with the same one are hard links of one file."""
        return self.found.st_dev, self.found.st_ino

    @property
    def device(self) -> tuple[int, int]:
        """Major and minor number of a device node."""
        return os.major(self.found.st_rdev), os.minor(self.found.st_rdev)

    @property
    def times(self) -> tuple[float, float, float]:
        """Last access, last change of the content, last change of the inode: seconds since the epoch."""
        return self.found.st_atime, self.found.st_mtime, self.found.st_ctime


_KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink"}


@dataclass(slots=True, kw_only=True)
class Accumulator:
    """Text that states of file.accumulated gather for a file."""

    lines: list[Value] = field(default_factory=list)
    consumers: set[str] = field(default_factory=set)
    """IDs of the states that its `require_in` and `watch_in` name."""


class FetchOptions(TypedDict, total=False):
    """How something is fetched from the web."""

    fits: Callable[[bytes], bool] | None
    """Says whether what is known need not be asked for again."""
    check: Callable[[bytes], None]
    """Raises what is wrong with a content, which is then not kept."""
    verify: bool
    """Whether the server has to prove who it is."""
    keep: bool
    """Whether what it gives is cached; it is, unless this is false."""


class Reader(Protocol):
    """What a plan may do: look."""

    grains: Mapping[str, Value]
    pillar: Mapping[str, Value]
    opts: Mapping[str, Value]
    """The minion's configuration in Salt's shape."""
    accumulated: dict[str, dict[str, Accumulator]]
    """What file.accumulated has gathered in this run: file -> name -> accumulator. Planning adds to it: it is memory
    of the run, and nothing on the machine."""

    def stat(self, path: str) -> FileStat | None:
        """lstat; None when there is nothing."""

    def read(self, path: str) -> bytes:
        """Content of a file on the machine."""

    def same(self, path: str, other: str) -> bool:
        """Whether two files hold the same, whatever their size."""

    def listdir(self, path: str) -> Sequence[str]:
        """Names in a directory, sorted."""

    def query(
        self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, stdin: str | None = None
    ) -> Completed:
        """Run a command that only reads (`dpkg-query`, `systemctl is-active`); never raises for its exit code."""

    def source(self, path: str, saltenv: str = "base") -> bytes:
        """Content of `salt://path`; FileNotFoundError when there is none."""

    def source_mode(self, path: str, saltenv: str = "base") -> int | None:
        """Permission bits of `salt://path`; None when there is none."""

    def sources(self, prefix: str, saltenv: str = "base") -> Sequence[str]:
        """Paths of `salt://prefix/...`, sorted."""

    def source_links(self, prefix: str, saltenv: str = "base") -> Mapping[str, str]:
        """Path -> target of the symlinks of `salt://prefix/...`; `sources` has what they lead to."""

    def render(self, path: str, saltenv: str, context: Mapping[str, Value]) -> bytes:
        """`salt://path` rendered as a Jinja template with grains, pillar and this context."""

    def render_text(self, text: str, engine: str, saltenv: str, context: Mapping[str, Value]) -> bytes:
        """A text rendered by `jinja`, `mako` or `py`."""

    def look_elsewhere(self, server: str) -> None:
        """A plan that asks a server over the network calls this first: ContentUnknown in a preview, where a branch that
        nobody has approved may name any server, to be shown this minion's credentials."""

    def fetch(self, url: str, **options: Unpack[FetchOptions]) -> bytes | None:
        """What an http, https or ftp URL gives; None when there is nothing there; StateFailed for any other failure."""


class Machine(Reader, Protocol):
    """What an act may do: also write. Every write is atomic where the system allows it."""

    def begin_elsewhere(self) -> None:
        """An act that changes what no method here writes (a server, by its API) calls this first: NotPredicted where
        acts are performed in memory alone."""

    def write(self, path: str, data: bytes, *, mode: str | None = None) -> None:
        """Replace a file's content atomically, keeping owner and mode unless `mode` is given (new files: 0644)."""

    def copy(self, source: str, path: str, *, mode: str | None = None) -> None:
        """Replace a file's content atomically by that of the file `source`, as `write` does."""

    def mkdir(self, path: str, *, parents: bool = False, mode: str | None = None) -> None:
        """Make a directory."""

    def chmod(self, path: str, mode: str) -> None:
        """Set the mode, given in octal digits."""

    def chown(self, path: str, user: str | int | None, group: str | int | None) -> None:
        """Set owner and group; None leaves it."""

    def symlink(self, target: str, path: str) -> None:
        """Make `path` a symlink to `target`, replacing a symlink that is there."""

    def remove(self, path: str) -> None:
        """Remove a file, symlink or whole directory tree; symlinks are never followed."""

    def link(self, target: str, path: str) -> None:
        """Make `path` a hard link of the file `target`, replacing a file that is there."""

    def mknod(self, path: str, mode: int, device: tuple[int, int]) -> None:
        """Make a pipe or a device node; `mode` has the kind too, `device` is major and minor number."""

    def rename(self, source: str, path: str) -> None:
        """Move a file or directory; to another file system by copying."""

    def utime(self, path: str, atime: float | None, mtime: float | None) -> None:
        """Set times, seconds since the epoch; None: now."""

    def run(
        self,
        argv: Sequence[str] | str,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        runas: str | None = None,
        timeout: float | None = None,
        stdin: str | None = None,
    ) -> Completed:
        """Run a command; a string goes through `/bin/sh -c`. Never raises for its exit code."""


NULL: Value = object()
"""Stands for None in `Change.reported`, where None itself means that nothing is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change: what stands in Salt's `changes` under `key`, and the act that makes it so.

    Changes whose `key` is empty are steps of a neighbour (its `old` and `new` are not shown).
    """

    key: str
    old: Value = None
    new: Value = None
    act: Callable[[Machine], Mapping[str, Value] | None]
    """Does it; raises StateFailed. May return more for `changes`, known only afterwards (pid, retcode, stdout)."""
    reported: Value = None
    """The value in `changes` instead of {"old": old, "new": new}, when not None (`diff`, a plain mode, ...)."""
    predicted_only: bool = False
    """Only a prediction has this in `changes`; after the act they are what the act returned (commands)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a state would do. Without changes: nothing, and `comment` says why that is right."""

    changes: tuple[Change, ...] = ()
    comment: str = ""
    """When there is nothing to do."""
    test_comment: str = ""
    """Comment under test=True when there is nothing to do, where Salt has another one."""
    pending: str = ""
    """Comment under test=True when there are changes, in Salt's words."""
    done: str = ""
    """Comment after the acts."""
    converges: bool = True
    """False where a second plan would not show what the acts did: none is made."""
    each_time: bool = False
    """Whether the state acts each time it runs (cmd.run, module.run), so that having to act says nothing of drift."""
    transient: bool = False
    """Whether what it changes ends with the process of the run (environ.setenv): it is never drift."""
    result: bool | None = True
    """Result when there is nothing to do (test.fail_without_changes has False)."""
    test_result: bool | None = None
    """Result under test=True when there are changes: False where it is known that they will fail."""
    warnings: tuple[str, ...] = field(default=())
    skip_req: bool = False
    """Whether what watches the state, or waits for its changes, is not to act on them."""
    cleanup: Callable[[Machine], None] | None = None
    """Done last in a real run, with nothing else to do too and also after acts that failed; it is no change."""


StateFunction = Callable[..., Plan]
"""`f(machine, name, **arguments) -> Plan`. Module attributes: `STATES: dict[str, StateFunction]` by Salt's name, and
`mod_watch(machine, name, *, sfun, **arguments) -> Plan` where Salt's module has one."""
