"""Extensions of PHP, by the pecl that is here, in folders of the tests' own: a package that is built here."""

import shutil
import subprocess

import pytest

from minion.execution import CallFailed, Context, Modules
from tools.docs.cases.languages import CASES

[PACKAGE] = {case.files["p/package.xml"] for case in CASES if case.fun == "pecl.installed"}


@pytest.fixture
def archive(tmp_path, tmp_path_factory, monkeypatch):
    """archive("1.2.0"): a package `salterncase`. What pecl keeps is elsewhere."""
    if shutil.which("pecl") is None or shutil.which("pear") is None:
        pytest.skip("there is no pecl: Debian's package php-pear has it")
    top = tmp_path_factory.mktemp("pear")
    subprocess.run(["pear", "config-create", top, top / "conf"], check=True, stdout=subprocess.DEVNULL)
    monkeypatch.setenv("PHP_PEAR_SYSCONF_DIR", str(top))
    for name in ("pear.conf", ".pearrc"):
        shutil.copy(top / "conf", top / name)
    monkeypatch.setenv("HOME", str(top))

    def built(version):
        folder = top / version
        folder.mkdir()
        (folder / "package.xml").write_text(PACKAGE.replace("1.2.0", version))
        (folder / "x.php").write_text("<?php\n")
        subprocess.run(["pear", "package"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        shutil.copy(folder / f"salterncase-{version}.tgz", tmp_path)
        return str(tmp_path / f"salterncase-{version}.tgz")

    yield built
    subprocess.run(["pecl", "uninstall", "salterncase"], check=False, stdout=subprocess.DEVNULL)


def test_an_extension_is_installed_and_removed(archive, converge):
    first = archive("1.2.0")
    made = converge("pecl.installed", first, defaults=True)
    assert (made.changes, made.comment) == (
        {first: "Installed"}, f"Pecl extension {first} was successfully installed",
    )  # fmt: skip
    for arguments in ({}, {"version": "1.2.0"}, {"preferred_state": "beta"}):
        there = converge("pecl.installed", "salterncase", **arguments)
        assert (there.changes, there.comment) == ({}, "Pecl extension salterncase is already installed.")
    assert converge("pecl.installed", "pecl.php.net/salterncase").changes == {}
    second = archive("1.3.0")
    assert converge("pecl.installed", second, force=True).changes == {second: "Installed"}
    gone = converge("pecl.removed", "salterncase")
    assert (gone.changes, gone.comment) == (
        {"salterncase": "Removed"}, "Pecl extension salterncase was successfully removed.",
    )  # fmt: skip
    assert converge("pecl.removed", "salterncase").comment == "Pecl extension salterncase is not installed."


def test_what_is_not_there_is_said(archive, converge):
    failed = converge("pecl.installed", "/none/none-1.0.tgz")
    assert failed.result is False
    assert failed.comment.startswith("Could not install pecl extension /none/none-1.0.tgz. ")
    assert converge("pecl.installed", "-x").result is False


def test_the_module(archive):
    modules = Modules(Context(minion_id="m"))
    package = archive("1.2.0")
    assert modules.call("pecl.install", (package,)) is True
    assert modules.call("pecl.list") == {"salterncase": ["1.2.0", "stable"]}
    assert modules.call("pecl.list", ("pecl.php.net",)) == {"salterncase": ["1.2.0", "stable"]}
    with pytest.raises(CallFailed, match="Ignoring installed package"):
        modules.call("pecl.install", (package,))
    assert "upgrade ok" in modules.call("pecl.update", (archive("1.4.0"),))
    assert "uninstall ok" in modules.call("pecl.uninstall", (["salterncase"],))
    with pytest.raises(CallFailed, match="not installed"):
        modules.call("pecl.uninstall", ("salterncase",))
    with pytest.raises(CallFailed, match="does not exist"):
        modules.call("pecl.list", ("none.example",))
