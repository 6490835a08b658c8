"""The configuration and the key of a new agent, out of those of the Salt minion that it replaces.

Run on the minion's machine, by `controller.replacement.switch`: it needs nothing but what a minion has installed. What
a Salt minion's configuration says stays on its machine.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from controller.migration import trial
from controller.migration.options import convert
from controller.migration.salt_files import SaltFolder
from minion.config.files import BadMinionSettings
from minion.config.settings import load_settings
from options.bounded_files import FileRefused
from wire.errors import BadKey
from wire.keys import load_or_create

MARK = "saltern-switch: "
"""As in `controller.replacement.switch`, which imports nothing."""
HEAD = "# Made by `saltern migrate agent`, from {folder}. It is written anew when that is asked for again.\n"
_CONNECTION = frozenset(
    (
        "id", "master", "controller", "master_port", "ret_port", "publish_port", "controller_key", "relay_key",
        "master_type", "master_alive_interval", "master_failback", "master_failback_interval", "master_shuffle",
        "random_master", "master_tries", "user",
    )
)  # fmt: skip
"""Options of the way to the master, which is another one now."""


class NotWritten(Exception):
    """Nothing was written; `hint` says what to do."""

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(text)
        self.hint = hint


def write_minion_files(salt: Path, config: Path, own: Mapping[str, Any]) -> dict[str, Any]:
    """Write the configuration and the static grains, and make the key.

    Args:
        salt: folder of the Salt minion's configuration.
        config: folder of ours.
        own: `id`, `master`, `controller_key` and ports, which are not Salt's.

    Returns:
        `public`, the key; `left_out`, options that are not taken, each with the reason.

    Raises:
        NotWritten: there is a configuration already that somebody else made, or it cannot be read or written.
    """
    head = HEAD.format(folder=salt)
    file = config / "minion"
    if file.exists() and not file.read_text(encoding="utf-8", errors="replace").startswith(head):
        raise NotWritten(f"{file} is there already", "move it away, or have that agent answer by hand, and ask again")
    folder = SaltFolder(salt)
    converted = convert("minion", folder.options("minion"), lambda _kind, _name: False)
    taken = {name: value for name, value in converted.taken.items() if name not in _CONNECTION}
    left_out = [each for each in converted.left_out if each.partition(":")[0] not in _CONNECTION]
    config.mkdir(mode=0o755, parents=True, exist_ok=True)
    _write(file, head + trial.text_of({**own, **taken}))
    grains = salt / "grains"
    if grains.is_file():
        _write(config / "grains", folder.text(grains))
    settings = load_settings(config)
    public = load_or_create(settings.pki_dir / "minion.key").public
    return {"public": public, "left_out": [*left_out, *folder.not_read][:200]}


def _write(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}.new")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def main() -> None:
    """Take the question from standard input, and say what came of it."""
    asked = json.load(sys.stdin)
    try:
        told = write_minion_files(Path(asked["salt"]), Path(asked["config"]), asked["own"])
    except NotWritten as error:
        told = {"why": str(error), "hint": error.hint}
    except (BadKey, BadMinionSettings, FileRefused, OSError) as error:
        told = {"why": str(error)}
    sys.stdout.write(f"{MARK}{json.dumps(told)}\n")
