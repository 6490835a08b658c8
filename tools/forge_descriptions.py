"""Fetch what the forges publish of their APIs, for the tests that hold clients and fakes against it.

make forge-descriptions. npm packages are unpacked into .cache/forge-descriptions; nothing of them is committed.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / ".cache" / "forge-descriptions"
FILES = {
    "github.json": ("@octokit/openapi@23.0.2", "package/generated/api.github.com.json"),
    "github-webhooks.json": ("@octokit/webhooks-examples@7.6.1", "package/api.github.com/index.json"),
}
"""File here -> npm package, and the file in it."""


def main() -> None:
    """Fetch what is not there yet."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, (package, member) in FILES.items():
        if not (FOLDER / name).exists():
            (FOLDER / name).write_bytes(_file_of(package, member))
            sys.stdout.write(f"{name}: {package}\n")


def _file_of(package: str, member: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", package], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        (packed,) = Path(folder).glob("*.tgz")
        with tarfile.open(fileobj=io.BytesIO(packed.read_bytes())) as archive:
            found = archive.extractfile(member)
            if found is None:
                raise SystemExit(f"{package} has no {member}")
            return found.read()


if __name__ == "__main__":
    main()
