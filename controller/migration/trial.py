"""Whether our own loaders take options, tried by loading a configuration that has them.

Called by `options` and `converted`.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from controller.config import checks
from controller.config import settings as of_controller
from controller.migration.salt_files import ConfigurationKind
from minion.config import settings as of_minion
from minion.config.files import BadMinionSettings

_PLACE = re.compile(r"\S+?:\d+: |\S+/minion: ")


def faults(kind: ConfigurationKind, options: Mapping[str, Any]) -> list[str]:
    """What our loader has against some options, one text each; empty when it takes them.

    Args:
        kind: `master`: the controller's loader; `minion`: that of minions.
        options: name -> value.
    """
    with tempfile.TemporaryDirectory(prefix="saltern-migrate-") as folder:
        return faults_of_folder(kind, Path(folder), text_of(options))


def faults_of_folder(kind: ConfigurationKind, folder: Path, text: str) -> list[str]:
    """The same of a text, which is written into a folder that is there for this."""
    name = "controller" if kind == "master" else "minion"
    (folder / name).write_text(text, encoding="utf-8")
    try:
        if kind == "minion":
            of_minion.load_settings(folder, {} if "\nid:" in f"\n{text}" else {"id": "minion"})
            return []
        settings = of_controller.load_settings(folder)
        checks.check_git(settings)
        checks.check_engines(settings)
    except of_controller.BadControllerSettings as error:
        return [f"{fault.message}; {fault.hint}" if fault.hint else fault.message for fault in error.faults]
    except BadMinionSettings as error:
        return [_PLACE.sub("", line, count=1) for line in str(error).splitlines()]
    return []


def text_of(options: Mapping[str, Any]) -> str:
    """Options as the text of a configuration file."""
    if not options:
        return ""
    return yaml.safe_dump(dict(options), default_flow_style=False, sort_keys=False, allow_unicode=True, width=100)
