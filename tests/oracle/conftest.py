"""Real Salt for the tests of this folder: the virtualenv SALT_VENV. Nothing is installed here (`make oracle` does)."""

import os
from pathlib import Path

import pytest

from tools.oracle.client import Salt


@pytest.fixture(scope="session")
def salt():
    venv = os.environ.get("SALT_VENV")
    if not venv:
        pytest.skip("SALT_VENV names no virtualenv with Salt (`make oracle` makes one in .cache/oracle)")
    if not (Path(venv) / "bin" / "salt-call").exists():
        pytest.fail(f"SALT_VENV={venv} has no Salt")
    with Salt(Path(venv)) as running:
        yield running
