"""Packages of Haskell, of a repository of the tests, by real cabal and GHC."""

import io
import json
import os
import shutil
import sys
import tarfile
from pathlib import Path

import pytest

from minion.execution import CallFailed, Context, Modules
from minion.machine.failure import StateFailed
from minion.providers.haskell.cabal import parted


def package(version: str) -> bytes:
    files = {
        "saltern-case.cabal": (
            f"cabal-version: 1.12\nname: saltern-case\nversion: {version}\nbuild-type: Simple\nlicense: BSD3\n"
            "library\n  exposed-modules: Case\n  build-depends: base\n  default-language: Haskell2010\n"
        ),
        "Case.hs": "module Case where\nanswer :: Int\nanswer = 42\n",
        "Setup.hs": "import Distribution.Simple\nmain = defaultMain\n",
    }
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(f"saltern-case-{version}/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return data.getvalue()


@pytest.fixture(params=["real", "stand-in"])
def env(request, tmp_path_factory):
    """The environment of a user whose cabal has a repository with two versions; GHC is too large for some machines."""
    home = tmp_path_factory.mktemp("home")
    return real(home) if request.param == "real" else stand_in(home)


def real(home: Path) -> dict[str, str]:
    if shutil.which("cabal") is None or shutil.which("ghc-pkg") is None:
        pytest.skip("cabal-install and ghc are not installed")
    (home / "repository").mkdir()
    for version in ("1.0", "1.2"):
        (home / f"repository/saltern-case-{version}.tar.gz").write_bytes(package(version))
    (home / ".cabal").mkdir()
    (home / ".cabal/config").write_text(f"repository local\n  url: file+noindex://{home}/repository\n")
    return {"HOME": str(home)}


def stand_in(home: Path) -> dict[str, str]:
    known = {"repository": {"saltern-case": ["1.0", "1.2"]}, "installed": {"base": ["4.15.1.0"]}}
    (home / "state.json").write_text(json.dumps(known))
    for name in ("cabal", "ghc-pkg"):
        program = Path(__file__).with_name("fake_cabal.py")
        (home / name).write_text(f'#!/bin/sh\nexec {sys.executable} {program} {home}/state.json {name} "$@"\n')
        (home / name).chmod(0o755)
    return {"PATH": f"{home}:{os.environ['PATH']}"}


def test_a_library_comes_and_goes(converge, env):
    made = converge("cabal.installed", "saltern-case-1.0", env=env)
    assert (made.changes, made.comment) == (
        {"old": [], "new": ["saltern-case-1.0"]}, "Packages(s) 'saltern-case-1.0' successfully installed",
    )  # fmt: skip
    again = converge("cabal.installed", "x", pkgs=["saltern-case", "base"], env=[env])
    assert again.comment == "Packages(s) 'saltern-case, base' satisfied by saltern-case, base"
    call = Modules(Context(minion_id="m")).call
    assert call("cabal.list", (), {"installed": True, "env": env})["saltern-case"] == "1.0"
    assert call("cabal.list", ("saltern",), {"env": env})["saltern-case"] == "1.2"
    assert call("cabal.update", (), {"env": env})["retcode"] == 0
    gone = converge("cabal.removed", "saltern-case", env=env)
    assert (gone.changes, gone.comment) == (
        {"saltern-case": "Removed"}, "Package 'saltern-case' was successfully removed",
    )  # fmt: skip
    assert converge("cabal.removed", "saltern-case", env=env).comment == "Package 'saltern-case' is not installed"
    for fun in ("install", "uninstall"):
        with pytest.raises(CallFailed, match="nothing"):
            call(f"cabal.{fun}", ("nothing-of-this-name",), {"env": env})


def test_what_cannot_be_had_is_said(converge, env):
    failed = converge("cabal.installed", "saltern-case-9.9", env=env)
    assert failed.result is False
    assert failed.comment.startswith("Error installing 'saltern-case-9.9': ")
    assert "no package of cabal" in converge("cabal.installed", "--global", env=env).comment
    absent = converge("cabal.installed", "x", user="nobody-of-this-name")
    assert absent.comment == "Error looking up 'x': User 'nobody-of-this-name' is not available"


@pytest.mark.parametrize(
    ("spec", "parts"),
    [("lens", ("lens", None)), ("lens-5.2.1", ("lens", "5.2.1")), ("http-client", ("http-client", None)),
     ("http-client-0.7", ("http-client", "0.7")), ("base64-bytestring-1", ("base64-bytestring", "1"))],
)  # fmt: skip
def test_names_have_dashes(spec, parts):
    assert parted(spec) == parts
    with pytest.raises(StateFailed):
        parted("-x")
