"""Packages of Node.js, by the npm that is here: from folders, archives, a repository and a registry of the tests."""

import base64
import hashlib
import http.server
import json
import os
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest

from minion.execution import CallFailed, Context, Modules


@pytest.fixture
def npm(monkeypatch):
    """A folder with npm's home, prefix and cache: questions fill the cache, too. Other users may look into it."""
    if shutil.which("npm") is None:
        pytest.skip("there is no npm: Debian's package npm has it")
    top = tempfile.TemporaryDirectory(prefix="saltern-npm-")
    folder = Path(top.name)
    folder.chmod(0o755)
    for key in [key for key in os.environ if key.lower().startswith("npm_config_")]:
        monkeypatch.delenv(key)
    monkeypatch.setenv("HOME", str(folder / "home"))
    monkeypatch.setenv("npm_config_prefix", str(folder / "prefix"))
    monkeypatch.setenv("npm_config_cache", str(folder / "home/cache"))
    (folder / "home").mkdir()
    (folder / "prefix/lib").mkdir(parents=True)
    with top:
        yield folder


@pytest.fixture
def call(npm):
    modules = Modules(Context(minion_id="m"))
    return lambda fun, *args, **given: modules.call(f"npm.{fun}", args, given)


@pytest.fixture
def package(npm):
    """package("one", "1.2.0"): a folder with a package."""

    def made(name, version, **more):
        folder = npm / name.replace("/", "-")
        folder.mkdir(exist_ok=True)
        (folder / "package.json").write_text(json.dumps({"name": name, "version": version, **more}))
        return folder

    return made


@pytest.fixture
def archive(npm, package):
    def made(name, version):
        folder = package(name, version)
        told = subprocess.run(["npm", "pack", "--json", folder], cwd=npm, check=True, capture_output=True).stdout
        return npm / json.loads(told)[0]["filename"]

    return made


@pytest.fixture
def registry(npm, archive, monkeypatch):
    """A registry of HTTP with the package `web-case` in two versions, of which 1.1.0 is the latest."""
    files = {version: archive("web-case", version).read_bytes() for version in ("1.0.0", "1.1.0")}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path.endswith(".tgz"):
                answer = files[self.path.split("/")[-1][:-4]]
            elif self.path == "/web-case":
                answer = json.dumps(self._document()).encode()
            else:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def _document(self):
            host = f"http://127.0.0.1:{self.server.server_address[1]}"
            versions = {
                version: {
                    "name": "web-case",
                    "version": version,
                    "dist": {
                        "tarball": f"{host}/web-case/-/{version}.tgz",
                        "integrity": "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode(),
                    },
                }
                for version, data in files.items()
            }
            return {"name": "web-case", "dist-tags": {"latest": "1.1.0", "old": "1.0.0"}, "versions": versions}

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()


def test_a_folder_is_installed_and_removed(tmp_path, package, converge, call):
    one, app = package("one", "1.2.0"), tmp_path / "app"
    app.mkdir()
    made = converge("npm.installed", one, dir=str(app))
    assert made.changes == {"old": [], "new": [str(one)]}
    assert made.comment == f"Package(s) '{one}' successfully installed"
    assert call("list", dir=str(app))["one"]["version"] == "1.2.0"
    there = converge("npm.installed", "one@^1.1", dir=str(app))
    assert (there.changes, there.comment) == ({}, "Package(s) 'one@^1.1' satisfied by one@1.2.0")
    gone = converge("npm.removed", "one", dir=str(app))
    assert (gone.changes, gone.comment) == ({"one": "Removed"}, "Package 'one' was successfully removed")
    assert converge("npm.removed", "one", dir=str(app)).comment == "Package 'one' is not installed"


def test_archives_are_for_the_whole_machine_without_a_folder(npm, archive, converge):
    first, second = archive("@case/two", "1.0.0"), archive("@case/two", "2.0.0")
    assert converge("npm.installed", first).changes == {"old": [], "new": [str(first)]}
    assert json.loads((npm / "prefix/lib/node_modules/@case/two/package.json").read_text())["version"] == "1.0.0"
    assert converge("npm.installed", "@case/two").changes == {}
    assert converge("npm.installed", "@case/two@1.x").changes == {}
    assert converge("npm.installed", "x", pkgs=[str(second), "@case/two"]).changes["new"] == [str(second)]
    assert converge("npm.removed", "@case/two").changes == {"@case/two": "Removed"}


def test_versions_and_tags_come_from_a_registry(npm, registry, converge, call):
    given = {"registry": registry}
    assert converge("npm.installed", "web-case@1.0.0", **given).changes["new"] == ["web-case@1.0.0"]
    assert converge("npm.installed", "web-case", **given).changes == {}
    assert converge("npm.installed", "web-case@old", **given).changes == {}
    assert converge("npm.installed", "web-case@>=1.0.0 <1.1", **given).changes == {}
    assert converge("npm.installed", "web-case@latest", **given).changes["new"] == ["web-case@latest"]
    assert call("list")["web-case"]["version"] == "1.1.0"
    failed = converge("npm.installed", "web-none", **given)
    assert failed.result is False
    assert failed.comment.startswith("Error installing 'web-none': ")
    assert "404" in failed.comment
    failed = converge("npm.installed", "web-case@none", **given)
    assert failed.comment.startswith("Error looking up 'web-case@none': ")


def test_a_repository_is_one_of_its_version(npm, package, converge, call):
    if shutil.which("git") is None:
        pytest.skip("there is no git")
    folder = package("from-git", "3.0.0")
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", "-C", folder]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"]):
        subprocess.run([*git, *words], check=True)
    source = f"git+file://{folder}"
    assert converge("npm.installed", source).changes["new"] == [source]
    assert call("list", "from-git")["from-git"]["version"] == "3.0.0"


def test_a_folder_is_bootstrapped(npm, package, converge):
    package("one", "1.2.0")
    app = package("app", "1.0.0", dependencies={"one": "file:../one"})
    made = converge("npm.bootstrap", app)
    assert (made.changes, made.comment) == ({str(app): "Bootstrapped"}, "Directory was successfully bootstrapped")
    assert (app / "node_modules/one/package.json").exists()
    shutil.rmtree(app / "node_modules")
    assert converge("npm.bootstrap", app, silent=False).changes == {str(app): "Bootstrapped"}
    missing = converge("npm.bootstrap", npm / "none")
    assert missing.comment == f"Error Bootstrapping '{npm}/none': there is no folder {npm}/none"


def test_the_cache(npm, registry, converge, call):
    converge("npm.installed", "web-case@1.0.0", registry=registry)
    assert call("cache_path") == str(npm / "home/cache")
    assert "web-case-1.0.0.tgz" not in call("cache_list", "none")
    assert "/web-case" in call("cache_list", "web-case")
    before = call("cache_list").splitlines()
    gone = converge("npm.cache_cleaned", "web-case")
    assert (gone.changes, gone.comment) == ({"web-case": "Removed"}, "Cached web-case successfully removed")
    assert len(call("cache_list").splitlines()) < len(before)
    assert converge("npm.cache_cleaned", "web-case").comment == "Package web-case is not in the cache"
    refused = converge("npm.cache_cleaned", "")
    assert refused.comment.startswith("Error cleaning cached packages: ")
    assert converge("npm.cache_cleaned", "", force=True).changes == {"cache": "Removed"}
    assert call("cache_list") == ""


def test_another_user_has_packages_of_its_own(npm, package, converge):
    if os.geteuid() != 0:
        pytest.skip("only root may run npm as another user")
    one, app = package("one", "1.2.0"), npm / "home/app"
    app.mkdir()
    for path in (npm / "home", app):
        shutil.chown(path, "nobody")
    made = converge("npm.installed", one, dir=str(app), user="nobody", env=[{"HOME": str(npm / "home")}])
    assert made.result is True, made.comment
    assert (app / "package.json").owner() == "nobody"
    assert converge("npm.installed", one, dir=str(app), user="none-such").comment.endswith(
        "'none-such' is not available"
    )


@pytest.mark.parametrize("name", ["--global", "-g", " ", "./here"])
def test_what_is_no_package_is_refused(npm, converge, call, name):
    assert converge("npm.installed", name).result is False
    if name.startswith("-"):
        with pytest.raises(CallFailed, match="is no package of npm"):
            call("install", name)


def test_without_npm_it_is_said(converge, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "npm is not there: install Node.js with npm" in converge("npm.installed", "left-pad").comment
