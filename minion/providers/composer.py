"""Dependencies of a project of PHP as composer(1) has them: what it would do, and its doing it.

Called by the state and the execution module `composer`.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping
from typing import NamedTuple

from minion.arguments.types import TextPairs
from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader
from minion.providers.user_programs import UserProgram

_OPERATION = re.compile(
    r"^  - ((?:Installing|Upgrading|Downgrading|Updating|Reinstalling|Removing|Uninstalling) .+?)"
    r"(?:: (?:Extracting|Mirroring|Symlinking|Junctioning|Loading|Cloning|Checking).*)?$",
    re.MULTILINE,
)


class ComposerOptions(NamedTuple):
    """How composer is run: as arguments of the states and functions."""

    composer: str | None = None
    php: str | None = None
    prefer_source: bool = False
    prefer_dist: bool = False
    no_scripts: bool = False
    no_plugins: bool = False
    optimize: bool = False
    no_dev: bool = False
    composer_home: str = "/root"
    env: TextPairs | None = None

    def program(self, user: str | None) -> UserProgram:
        """The program, as a user runs it."""
        php = self.php or ("php" if self.composer else None)
        return UserProgram(
            argv=(*([php] if php else []), self.composer or "composer"),
            remedy="install it (Debian: composer), or give composer and php",
            user=user,
            env={**(self.env or {}), "COMPOSER_HOME": self.composer_home},
        )

    def words(self, action: str, folder: str) -> list[str]:
        """Those of a command in a folder."""
        flags = {
            "--no-dev": self.no_dev,
            "--no-plugins": self.no_plugins,
            "--no-scripts": self.no_scripts,
            "--optimize-autoloader": self.optimize,
            "--prefer-dist": self.prefer_dist,
            "--prefer-source": self.prefer_source,
        }
        always = [action, "--no-interaction", "--no-ansi", "--working-dir", folder]
        return [*always, *(flag for flag, wanted in flags.items() if wanted)]


def operations(
    machine: Reader, action: str, folder: str, user: str | None, options: ComposerOptions
) -> tuple[str, ...]:
    """What composer would do: `Installing name (version)`. StateFailed where it cannot."""
    done = options.program(user).ask(machine, *options.words(action, folder), "--dry-run")
    return tuple(dict.fromkeys(_OPERATION.findall(_said(done))))


def carry_out(machine: Machine, action: str, folder: str, user: str | None, options: ComposerOptions) -> Completed:
    """Have composer do it."""
    done = options.program(user).tell(machine, *options.words(action, folder))
    _said(done)
    return done


def is_installed(machine: Reader, folder: str) -> bool:
    """Whether a project has its folder of dependencies: `vendor`, or as its composer.json names it."""
    try:
        told = json.loads(machine.read(posixpath.join(folder, "composer.json")))
    except OSError as error:
        raise StateFailed(f"{error.filename}: {error.strerror}") from error
    except ValueError as error:
        raise StateFailed(f"{folder}/composer.json: {error}") from error
    config = told.get("config") if isinstance(told, Mapping) else None
    vendor = config.get("vendor-dir") if isinstance(config, Mapping) else None
    return machine.stat(posixpath.join(folder, str(vendor or "vendor"))) is not None


def _said(done: Completed) -> str:
    """What composer has said, which is on both streams. StateFailed where it failed."""
    if done.returncode != 0:
        raise StateFailed(done.stderr.strip() or done.stdout.strip() or f"composer ends with {done.returncode}")
    return f"{done.stdout}\n{done.stderr}"
