"""Dependencies of a project of PHP, by the composer that is here."""

import json
import os
import shutil

import pytest

from minion.execution import CallFailed, Context, Modules

pytestmark = pytest.mark.skipif(
    shutil.which("composer") is None, reason="there is no composer: Debian's package has it"
)


@pytest.fixture
def given(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("COMPOSER_ALLOW_SUPERUSER", "1")
    return {"composer_home": str(tmp_path_factory.mktemp("composer"))}


@pytest.fixture
def project(tmp_path):
    """project(version, **more): a project `app` that needs `case/lib`."""

    def made(version, **more):
        for name in ("lib", "app"):
            (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / "lib/composer.json").write_text(json.dumps({"name": "case/lib", "version": version}))
        local = {"type": "path", "url": "../lib", "options": {"symlink": False}}
        told = {"name": "case/app", "repositories": [local, {"packagist.org": False}], "require": {"case/lib": "*"}}
        (tmp_path / "app/composer.json").write_text(json.dumps({**told, **more}))
        return tmp_path / "app"

    return made


def test_a_project_has_its_dependencies(project, converge, given):
    app = project("1.0.0")
    made = converge("composer.installed", app, **given)
    assert made.changes == {
        "old": f"composer install has not been run in {app}", "new": ["Installing case/lib (1.0.0)"],
    }  # fmt: skip
    assert made.comment == "Composer install completed successfully"
    assert (app / "vendor/case/lib/composer.json").exists()
    shutil.rmtree(app / "vendor/case")
    (app / "vendor/composer/installed.json").unlink()
    left = converge("composer.installed", app, always_check=False, **given)
    assert (left.changes, left.comment) == ({}, "Composer already installed this directory")
    assert converge("composer.installed", app, **given).changes["new"] == ["Installing case/lib (1.0.0)"]


def test_a_project_is_updated(project, converge, given):
    app = project("1.0.0")
    converge("composer.installed", app, **given)
    project("1.1.0")
    assert converge("composer.installed", app, **given).changes == {}
    made = converge("composer.update", app, no_dev=True, optimize=True, **given)
    assert made.changes == {
        "old": f"composer install has been run in {app}", "new": ["Upgrading case/lib (1.0.0 => 1.1.0)"],
    }  # fmt: skip
    assert made.comment == "Composer update completed successfully"


def test_a_project_without_dependencies_has_its_folder(project, converge, given):
    app = project("1.0.0", require={}, config={"vendor-dir": "libraries"})
    made = converge("composer.installed", app, **given)
    assert made.changes["new"] == f"composer install will be run in {app}"
    assert (app / "libraries/autoload.php").exists()


def test_dependencies_for_development_are_left_out(project, converge, given):
    app = project("1.0.0", require={}, **{"require-dev": {"case/lib": "*"}})
    assert converge("composer.installed", app, no_dev=True, **given).changes["new"].startswith("composer install")
    assert converge("composer.installed", app, **given).changes["new"] == ["Installing case/lib (1.0.0)"]


def test_what_cannot_be_done_is_said(project, converge, given, tmp_path):
    assert "composer.json: No such file" in converge("composer.installed", tmp_path / "none", **given).comment
    app = project("1.0.0", require={"case/none": "*"})
    failed = converge("composer.installed", app, **given)
    assert failed.comment.startswith(f"Error executing composer in '{app}': ")
    assert "case/none" in failed.comment
    missing = converge("composer.installed", app, composer="/none/composer", php="/none/php", **given)
    assert "/none/php is not there" in missing.comment
    (app / "composer.json").write_text("{")
    assert "composer.json: " in converge("composer.installed", app, **given).comment


def test_the_module(project, given):
    app = str(project("1.0.0"))
    modules = Modules(Context(minion_id="m"))
    assert modules.call("composer.did_composer_install", (app,)) is False
    told = modules.call("composer.install", (app,), given)
    assert (told["retcode"], "case/lib" in told["stderr"]) == (0, True)
    assert modules.call("composer.did_composer_install", (app,)) is True
    assert modules.call("composer.update", (app,), {"quiet": True, **given}) is True
    with pytest.raises(CallFailed):
        modules.call("composer.install", (os.path.join(app, "none"),), given)  # noqa: PTH118
