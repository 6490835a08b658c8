"""Each kind of forge: its fake, found by its file, and settings with access to it."""

from __future__ import annotations

import importlib
import json
from typing import Any

from forges.cases import FakeCase
from forges.server import FakeForge

from controller.forges.kind_names import KINDS
from controller.forges.registry import forge_of
from controller.forges.settings import ForgeSettings
from options.convert import kinds_of


def _cases(kind: str) -> dict[str, FakeCase]:
    found: dict[str, FakeCase] = importlib.import_module(f"forges.{kind.replace('-', '_')}").FAKES
    return found


CASES = {name: case for kind in KINDS for name, case in _cases(kind).items()}
"""By the name of a kind, and of another way to have access to it."""
FAKES = {name: case.make for name, case in CASES.items()}


def settings_of(fake: FakeForge, **more: Any) -> ForgeSettings:
    """As a configuration would have it. `more`: other options, those of the kind, too."""
    given = {"name": "fake", "kind": fake.kind, "api": fake.api, **fake.access, **more}
    options = forge_of(fake.kind).options
    own = {name: given.pop(name) for name in kinds_of(options) if name in given}
    return ForgeSettings(**given, own=options(**own))


def access_lines(fake: FakeForge) -> list[str]:
    """The same as lines of the option `forges`, below `- `."""
    given = {"name": "fake", "kind": fake.kind, "api": fake.api, **fake.access}
    return [f"{name}: {json.dumps(value)}" for name, value in given.items()]
