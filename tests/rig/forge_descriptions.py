"""Published descriptions of the forges' APIs and examples of their webhooks, as `make forge-descriptions` fetched them.

They are not in the repository; tests that need them are skipped where they are absent.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / ".cache" / "forge-descriptions"


@cache
def described(name: str) -> Any:
    """The JSON of a file that was fetched; skips the test when there is none."""
    path = Path(os.environ.get("SALTERN_FORGE_DESCRIPTIONS", FOLDER), name)
    if not path.exists():
        pytest.skip(f"there is no {path}: run make forge-descriptions (npm)")
    return json.loads(path.read_text())
