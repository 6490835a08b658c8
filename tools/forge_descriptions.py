"""Fetch what the forges publish of their APIs, for the tests that hold clients and fakes against it.

make forge-descriptions. npm packages are unpacked into .cache/forge-descriptions; nothing of them is committed. What no
registry has is put there by hand: `gitlab.json` (doc/api/openapi/openapi_v2.yaml of GitLab's repository, as JSON),
`forgejo.json` (templates/swagger of Forgejo's) and `azure-git.json` (specification/git/7.0/git.json of
vsts-rest-api-specs). The tests need the package jsonschema.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tools.openapi_of_types import document_of

FOLDER = Path(__file__).resolve().parents[1] / ".cache" / "forge-descriptions"
FILES = {
    "github.json": ("@octokit/openapi@23.0.2", "package/generated/api.github.com.json"),
    "github-webhooks.json": ("@octokit/webhooks-examples@7.6.1", "package/api.github.com/index.json"),
}
"""File here -> npm package, and the file in it."""
TYPES = "package/dist/{}/openapi/openapi-typescript.d.ts"
OF_TYPES = {
    "bitbucket.json": ("@coderabbitai/bitbucket@1.1.4", TYPES.format("cloud")),
    "bitbucket-datacenter.json": ("@coderabbitai/bitbucket@1.1.4", TYPES.format("server")),
}
"""The same; the file has TypeScript types of the description."""


def main() -> None:
    """Fetch what is not there yet."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, (package, member) in {**FILES, **OF_TYPES}.items():
        if not (FOLDER / name).exists():
            found = _file_of(package, member)
            described = json.dumps(document_of(found.decode())).encode() if name in OF_TYPES else found
            (FOLDER / name).write_bytes(described)
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
