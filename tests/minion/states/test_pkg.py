"""The pkg state on the real package manager: what is planned is what is done, and the second plan is empty."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from highstate.files import MemoryFiles
from highstate.types import Chunk, StateResult
from minion.engine.engine import StateEngine
from minion.machine.machine import LocalMachine
from minion.providers.pkg.apt import Apt
from minion.providers.pkg.packages import Available
from minion.states.pkg.wanted import plain, wanted_of

PACKAGE = "hello"
as_root = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("apt-get") is None, reason="installs packages: needs root, and apt"
)
pytestmark = pytest.mark.skipif(shutil.which("apt-get") is None, reason="asks apt, which is not here")


def _run(fun: str, name: str, *, test: bool = False, **arguments: Any) -> StateResult:
    machine = LocalMachine(sources_port=MemoryFiles({}))
    chunk = Chunk(state="pkg", fun=fun, id=name, name=name, sls="packages", arguments=arguments)
    engine = StateEngine(machine, test=test)
    prepared = engine.plan(chunk, arguments, watched=False)
    assert prepared is not None
    return engine.act(prepared)


@pytest.fixture
def run() -> Callable[..., StateResult]:
    return _run


@pytest.mark.e2e
@as_root
def test_a_package_file_is_installed_held_and_let_go(run: Callable[..., StateResult], tmp_path: Path) -> None:
    name, control = "saltern-test-package", tmp_path / "tree/DEBIAN/control"
    control.parent.mkdir(parents=True)
    fields = f"Package: {name}\nVersion: 1.0\nArchitecture: all\nMaintainer: nobody <root@example.org>\n"
    control.write_text(f"{fields}Description: empty\n")
    subprocess.run(["dpkg-deb", "--build", str(tmp_path / "tree"), str(tmp_path / "x.deb")], check=True)
    sources = [{name: str(tmp_path / "x.deb")}]
    try:
        assert run("installed", "x", sources=sources, test=True).result is None
        assert run("installed", "x", sources=sources).changes == {name: {"old": "", "new": "1.0"}}
        assert run("installed", "x", sources=sources).changes == {}
        assert run("held", name, test=True).comment == f"The following package would be held: {name}"
        assert run("held", name).changes == {name: {"old": "install", "new": "hold"}}
        assert run("held", name).comment == "No changes made"
        assert run("unheld", name).changes == {name: {"old": "hold", "new": "install"}}
    finally:
        assert run("purged", name).result is True


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        ({"a": "/x"}, "Invalidly formatted 'sources'"),
        ([{"ab": "relative.deb"}], "must be a path"),
        ([{"-a": "/x"}], "Invalid package name"),
    ],
)
def test_sources_that_are_none(run: Callable[..., StateResult], sources: Any, said: str) -> None:
    result = run("installed", "x", sources=sources)
    assert result.result is False
    assert said in result.comment


@pytest.fixture
def without_package() -> Iterator[None]:
    trouble = Apt().refresh(LocalMachine(sources_port=MemoryFiles({})), older_than=60)
    if trouble:
        pytest.skip(f"the repositories cannot be reached: {trouble}")
    _run("purged", PACKAGE)
    yield
    Apt().hold(LocalMachine(sources_port=MemoryFiles({})), [PACKAGE], held=False)
    _run("purged", PACKAGE)


@pytest.mark.e2e
@as_root
def test_a_package_comes_is_held_and_goes(run: Callable[..., StateResult], without_package: None) -> None:
    predicted = run("installed", PACKAGE, test=True)
    assert predicted.result is None
    assert predicted.comment == "The following packages would be installed/updated: hello"
    done = run("installed", PACKAGE)
    assert (done.result, done.changes) == (True, predicted.changes)
    assert done.comment == "The following packages were installed/updated: hello"
    version = done.changes[PACKAGE]["new"]
    again = run("installed", PACKAGE)
    assert (again.result, again.changes) == (True, {})
    assert again.comment == "All specified packages are already installed"
    at_version = run("installed", PACKAGE, version=version)
    assert at_version.comment == "All specified packages are already installed and are at the desired version"
    assert run("installed", PACKAGE, version=">=1.0,<99").changes == {}
    assert run("latest", PACKAGE, refresh=False).comment == "Package hello is already up-to-date"

    predicted = run("installed", PACKAGE, reinstall=True, test=True)
    assert predicted.comment == "The following packages would be reinstalled: hello"
    anew = run("installed", PACKAGE, reinstall=True)
    assert (anew.result, anew.comment) == (True, "Package hello was reinstalled.")
    assert anew.changes == predicted.changes == {PACKAGE: {"old": version, "new": version}}

    held = run("installed", PACKAGE, hold=True)
    assert held.changes == {PACKAGE: {"old": "install", "new": "hold"}}
    assert "Package hello is now being held." in held.comment
    kept = run("removed", PACKAGE)
    assert kept.result is False
    assert "Held packages were changed" in kept.comment
    assert run("installed", PACKAGE, hold=False).result is True

    predicted = run("removed", PACKAGE, test=True)
    assert predicted.comment == "The following packages will be removed: hello."
    gone = run("removed", PACKAGE)
    assert (gone.result, gone.changes) == (True, predicted.changes)
    assert gone.changes == {PACKAGE: {"old": version, "new": ""}}
    assert run("removed", PACKAGE).comment == "All specified packages are already absent"


@pytest.mark.e2e
@as_root
def test_a_version_that_is_not_to_be_had_fails_and_says_what_is(
    run: Callable[..., StateResult], without_package: None
) -> None:
    assert run("installed", PACKAGE, version="0.0.1", test=True).result is False
    exact = run("installed", PACKAGE, version="0.0.1")
    assert exact.result is False
    assert "Version '0.0.1' for 'hello' was not found (there is: " in exact.comment
    compared = run("installed", "x", pkgs=[{PACKAGE: ">=99"}])
    assert compared.result is False
    assert "No version of package hello fits '>=99'" in compared.comment


@pytest.mark.parametrize("version", ["1.20.*", ">=2", "1.20.1-1"])
def test_a_version_that_nothing_fits_is_predicted_to_fail(
    run: Callable[..., StateResult], monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    there = {"hello": Available(candidate="1.22.1-9", versions=("1.22.1-9",))}
    monkeypatch.setattr(Apt, "available", lambda self, machine, names, fromrepo="": there)
    monkeypatch.setattr(Apt, "packages", lambda self, machine: {})
    monkeypatch.setattr(Apt, "predict_install", lambda self, machine, targets, options: None)
    monkeypatch.setattr("minion.states.pkg.state.package_manager", lambda machine: Apt())
    predicted = run("installed", "hello", version=version, test=True)
    assert (predicted.result, predicted.changes) == (False, {})
    assert predicted.comment == f"No version of package hello fits '{version}' (there is: 1.22.1-9)"
    fitting = run("installed", "hello", version="1.22.*", test=True)
    assert (fitting.result, fitting.changes) == (None, {"hello": {"old": "", "new": "1.22.1-9"}})


def test_an_unknown_package_is_predicted_and_then_fails(run: Callable[..., StateResult]) -> None:
    predicted = run("installed", "no-such-package-at-all", test=True, refresh=False)
    assert predicted.result is None
    assert predicted.changes == {"no-such-package-at-all": {"old": "", "new": "installed"}}
    done = run("installed", "no-such-package-at-all", refresh=False)
    assert done.result is False
    assert "E: Unable to locate package no-such-package-at-all" in done.comment
    latest = run("latest", "no-such-package-at-all", refresh=False)
    assert (latest.result, latest.comment) == (False, "No information found for 'no-such-package-at-all'.")


def test_a_name_that_one_package_provides_stands_for_it(run: Callable[..., StateResult]) -> None:
    predicted = run("installed", "libltdl3-dev", test=True, refresh=False)
    if predicted.result is True:
        pytest.skip("this machine has a package that provides it")
    assert "libltdl-dev" in predicted.changes


def test_a_name_that_apt_would_expand_is_only_a_name(run: Callable[..., StateResult]) -> None:
    done = run("installed", "dpk.", refresh=False)
    assert done.result is False
    assert "E: Unable to locate package dpk." in done.comment


@pytest.mark.parametrize("fun", ["installed", "latest", "removed", "purged"])
def test_what_cannot_be_a_package_is_refused(run: Callable[..., StateResult], fun: str) -> None:
    for arguments in ({"name": "--purge"}, {"name": "dpkg-"}, {"name": "x", "pkgs": ["ok", "-y"]}):
        result = run(fun, **arguments, test=True)
        assert result.result is False
        assert "Invalid package name" in result.comment


def test_installed_packages_need_nothing(run: Callable[..., StateResult]) -> None:
    result = run("installed", "x", pkgs=["dpkg", "apt"])
    assert (result.result, result.changes) == (True, {})
    assert run("purged", "no-such-package-at-all").changes == {}
    ignored = run("installed", "dpkg", skip_verify=True)
    assert "skip_verify is ignored" in ignored.warnings[0]


@pytest.mark.parametrize("pkgs", ["hello", [["hello"]], [None], {}, [{}], 5])
def test_pkgs_that_are_no_list_of_packages_are_an_error(run: Callable[..., StateResult], pkgs: Any) -> None:
    result = run("installed", "x", pkgs=pkgs)
    assert result.result is False
    assert result.comment.startswith("Invalidly formatted 'pkgs' parameter: ")


def test_versions_fit_as_they_are_written() -> None:
    def fits(asked: str, version: str, **more: bool) -> bool:
        return wanted_of(Apt(), "hello", asked, None, allow_updates=more.get("updates", False))[0].fits(Apt(), version)

    assert fits("2.10-3", "2.10-3")
    assert fits("2.10-3", "0:2.10-3")
    assert not fits("2.10-3", "2.10-4")
    assert fits("2.10-3", "2.10-4", updates=True)
    assert fits("2.1*", "2.10-3")
    assert fits(">=2.9, <3", "2.10-3")
    assert not fits(">=2.9,<2.10", "2.10-3")
    assert fits("!=2.9", "2.10-3")
    assert fits("2.10-3", "1:2.10-3")
    assert not fits("0:2.10-3", "1:2.10-3")
    assert not fits("<3", "1:2.10-3")
    assert not fits("=2.9", "2.10-3")


def test_epochs_may_be_left_aside() -> None:
    ignored = wanted_of(Apt(), "hello", "<3", None, allow_updates=False, ignore_epoch=True)[0]
    strict = wanted_of(Apt(), "hello", "2.10-3", None, allow_updates=False, ignore_epoch=False)[0]
    assert ignored.fits(Apt(), "1:2.10-3")
    assert not strict.fits(Apt(), "1:2.10-3")


@pytest.mark.parametrize(
    ("fun", "comment"),
    [
        ("installed", "No packages to install provided"),
        ("latest", "No packages to install provided"),
        ("removed", "All specified packages are already absent"),
        ("purged", "None of the targeted packages are installed or partially installed"),
        ("held", "No packages to be held provided"),
        ("unheld", "No packages to be unheld provided"),
        ("uptodate", "System is already up-to-date"),
    ],
)
def test_an_empty_list_of_packages_asks_for_nothing(run: Callable[..., StateResult], fun: str, comment: str) -> None:
    result = run(fun, "x", pkgs=[])
    assert (result.result, result.comment, dict(result.changes)) == (True, comment, {})


def test_names_with_the_machines_architecture_are_plain_names() -> None:
    assert plain("dpkg:amd64", "amd64") == "dpkg"
    assert plain("bash.x86_64", "x86_64") == "bash"
    assert plain("libc6:i386", "amd64") == "libc6:i386"
    assert plain("dpkg", None) == "dpkg"


def test_groups_and_ages_that_cannot_be(run: Callable[..., StateResult]) -> None:
    assert "There is no group base" in run("group_installed", "base").comment
    assert "skip must be formatted as a list" in run("group_installed", "base", skip="a").comment
    assert "cache_valid_time" in run("installed", "no-such-package-at-all", cache_valid_time="soon").comment


@pytest.mark.e2e
@as_root
def test_packages_that_are_not_there_may_stay_away(run: Callable[..., StateResult]) -> None:
    result = run(
        "installed", "figlet" if shutil.which("figlet") is None else "toilet", only_upgrade=True, refresh=False
    )
    assert result.result is False
