"""What `saltern init` does, step by step: each is done when it is not done yet, and replaces nothing.

Called by the verb. The unit of systemd is started by it where the controller runs as a service.
"""

from __future__ import annotations

import os
import pwd
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from controller.config.checks import check_git
from controller.config.settings import BadControllerSettings, ControllerSettings, load_settings
from controller.enrolment.tokens import BadEnrolmentToken, EnrolmentDesk
from controller.setup.example_tree import CannotMakeTree, is_free, make_example_tree
from controller.setup.first_configuration import configuration_text
from controller.store import Store, StoreError
from controller.store.exclusive_use import exclusive_use, file_of
from wire.errors import BadKey
from wire.keys import load_or_create, read_public

SERVICE_USER = "saltern"
"""As whom the unit of the controller runs."""


class SetupFailed(Exception):
    """A step could not be done; `hint` says what to do, `problems` has a line for each fault."""

    def __init__(self, text: str, hint: str = "", problems: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.hint = hint
        self.problems = problems


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupRequest:
    """What is to be set up, and where."""

    config_dir: Path
    root_dir: Path
    tree: Path
    """Of the example, where no remote is given."""
    remote: str = ""
    """Address of a repository that is there."""


@dataclass(slots=True, kw_only=True)
class Setup:
    """A controller that is being set up.

    Args:
        request: what is asked for.
        service_user: who gets the files, when root makes them for a service; empty: they stay whose they are.
    """

    request: SetupRequest
    service_user: str = ""
    made: list[str] = field(default_factory=list)
    """Files and folders that were not there before."""
    kept: list[str] = field(default_factory=list)
    """And those that were, which stay as they are."""

    def run(self) -> tuple[ControllerSettings, str]:
        """Tree, configuration and key; the settings and the public key. Raises SetupFailed."""
        if not self.request.remote and not self.config.exists():
            self._make_tree()
        settings = self._configure()
        return settings, self._make_key(settings)

    @property
    def config(self) -> Path:
        """The configuration file."""
        return self.request.config_dir / "controller"

    def plan(self) -> list[str]:
        """What would be made, for who is asked whether it shall be."""
        steps = []
        if self.config.exists():
            steps.append(f"{self.config} is there, and stays as it is")
        else:
            if not self.request.remote:
                steps.append(f"an example of states and pillar, a git repository: {self.request.tree}")
            steps.append(f"the configuration: {self.config}")
        return [*steps, "the controller's key, unless there is one", "a token by which minions join"]

    def _make_tree(self) -> None:
        tree = self.request.tree
        try:
            free = is_free(tree)
        except OSError as error:
            raise SetupFailed(f"{tree}: {error.strerror}", "name another folder: --example-tree DIR") from error
        if not free and not (tree / "states").is_dir():
            hint = "name an empty folder (--example-tree DIR), or the repository that you have (--remote ADDRESS)"
            raise SetupFailed(f"{tree} has something else in it", hint)
        if not free:
            self.kept.append(str(tree))
            return
        managed = self.request.root_dir / "etc/saltern-hello"
        try:
            make_example_tree(tree, managed)
        except CannotMakeTree as error:
            raise SetupFailed(str(error), "name a folder that you may write: --example-tree DIR") from error
        self.made.append(str(tree))

    def _configure(self) -> ControllerSettings:
        folder = self.request.config_dir
        try:
            if self.config.exists():
                self.kept.append(str(self.config))
            else:
                folder.mkdir(mode=0o755, parents=True, exist_ok=True)
                remote = self.request.remote or str(self.request.tree)
                with os.fdopen(os.open(self.config, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                    file.write(configuration_text(remote, self.request.root_dir))
                self._give(self.config, 0o640, owner=False)
                self.made.append(str(self.config))
        except OSError as error:
            hint = "run this as root, or name folders of your own: -c DIR --root-dir DIR --example-tree DIR"
            raise SetupFailed(f"{error.filename or self.config}: {error.strerror}", hint) from error
        try:
            settings = load_settings(folder)
            check_git(settings)
        except BadControllerSettings as error:
            faults = tuple(str(fault) for fault in error.faults)
            raise SetupFailed("the configuration cannot be used", "mend it, and run this again", faults) from error
        return settings

    def _make_key(self, settings: ControllerSettings) -> str:
        path = settings.pki_dir / "controller.key"
        try:
            if path.exists():
                self.kept.append(str(path))
                return read_public(
                    path.read_text(encoding="utf-8")
                )  # it may be another user's, whom root runs this for
            public = load_or_create(path).public
            self._give(settings.pki_dir, 0o700)
            self._give(path, 0o600)
        except (BadKey, OSError, UnicodeDecodeError) as error:
            raise SetupFailed(f"{path}: {error}", "run this as root, or as the controller's user") from error
        self.made.append(str(path))
        return public

    def token(self, settings: ControllerSettings, count: int, seconds: float) -> tuple[str, float]:
        """A new enrolment token, and when it expires (seconds since the epoch), of a controller that does not run.

        Raises SetupFailed.
        """
        try:
            with exclusive_use(settings.store_url), Store(settings.store_url) as store:
                desk = EnrolmentDesk(store=store.enrolment_tokens, limits=settings.limits.stranger, clock=time.time)
                token, record = desk.give("*", count, seconds, "saltern init")
            if (database := file_of(settings.store_url)) is not None:
                self._give(database.parent, 0o700)
                for each in database.parent.glob(f"{database.name}*"):
                    self._give(each, 0o600)
        except (StoreError, OSError) as error:
            raise SetupFailed(str(error), "store_url in the configuration says where the store is") from error
        except BadEnrolmentToken as error:
            raise SetupFailed(str(error), "say other --count or --expires") from error
        return token, record.expires

    def _give(self, path: Path, mode: int, *, owner: bool = True) -> None:
        """Have the service's user own a file, or read it only (its group)."""
        if not self.service_user or os.geteuid() != 0:
            return
        user = pwd.getpwnam(self.service_user)
        os.chown(path, user.pw_uid if owner else -1, user.pw_gid, follow_symlinks=False)
        path.chmod(mode)


def address_of(settings: ControllerSettings) -> str:
    """By which minions probably reach this machine: the address that it listens at, else its name."""
    if settings.interface not in ("0.0.0.0", "::"):  # noqa: S104
        return settings.interface
    return next((name for name in _names() if not name.startswith("localhost")), "127.0.0.1")


def _names() -> Iterator[str]:
    yield from (socket.getfqdn(), socket.gethostname())


def join_line(settings: ControllerSettings, public: str, token: str, address: str) -> str:
    """What is typed on a minion, for a shell. Keys in Z85 have no quote and no backslash (ZeroMQ RFC 32)."""
    port = "" if settings.ret_port == 4506 else f" --port {settings.ret_port}"
    return f"saltern minion join {address}{port} --key '{public}' --token {token}"
