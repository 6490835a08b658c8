"""Apache: what Debian's programs switch in a folder of the tests' own, the module, and configuration from data."""

import shutil

import pytest

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk
from minion.engine.engine import StateEngine
from minion.execution import CallFailed, Context, Modules
from minion.machine.failure import StateFailed
from minion.machine.machine import LocalMachine
from minion.providers.apache.configuration import configuration

pytestmark = pytest.mark.skipif(shutil.which("a2enmod") is None, reason="needs Debian's apache2")


@pytest.fixture
def top(tmp_path, monkeypatch):
    """Apache's folder, with a few modules."""
    for kind in ("mods", "sites", "conf"):
        (tmp_path / f"{kind}-available").mkdir()
        (tmp_path / f"{kind}-enabled").mkdir()
    for name, head in (("dav", ""), ("dav_fs", "# Depends: dav\n"), ("alias", ""), ("php", "# Conflicts: dav\n"),
                       ("cgi", ""), ("cgid", ""), ("mpm_event", "")):  # fmt: skip
        (tmp_path / f"mods-available/{name}.load").write_text(f"{head}LoadModule {name}_module x.so\n")
    (tmp_path / "mods-available/dav_fs.conf").write_text("")
    (tmp_path / "sites-available/000-default.conf").write_text("")
    (tmp_path / "sites-available/needy.conf").write_text("# Depends: dav\n")
    monkeypatch.setenv("APACHE_CONFDIR", str(tmp_path))
    monkeypatch.setenv("APACHE_STATE_DIRECTORY", str(tmp_path / "state"))
    return tmp_path


@pytest.fixture
def both(top, tmp_path):
    """both(("apache_module.enabled", "dav"), …): what is foretold, which touches nothing, and what is done."""
    machine = LocalMachine(sources_port=MemoryFiles({}))

    def every():
        return sorted(str(path) for path in top.glob("*-enabled/*"))

    def results(states, *, test):
        chunks = {
            str(number): Chunk(state=full.partition(".")[0], fun=full.partition(".")[2], id=full, name=name, sls="s",
                               order=number)
            for number, (full, name) in enumerate(states)
        }  # fmt: skip
        made = run(chunks, StateEngine(machine, test=test), test=test, clock=lambda: 0.0)
        return [(one.result, dict(one.changes), one.comment) for one in map(made.__getitem__, chunks)]

    def call(*states):
        before = every()
        foretold = results(states, test=True)
        assert every() == before
        done = results(states, test=False)
        for expected, found in zip(foretold, done, strict=True):
            assert (expected[0], expected[1]) == (None if found[1] else found[0], found[1]), (expected, found)
        return done

    return call


def test_a_module_comes_with_those_that_it_depends_on(both, top):
    made = both(("apache_module.enabled", "dav_fs"), ("apache_module.enabled", "dav"), ("apache_site.enabled", "needy"))
    assert [one[1] for one in made] == [{"old": None, "new": "dav_fs"}, {}, {"old": None, "new": "needy"}]
    assert sorted(path.name for path in top.glob("mods-enabled/*")) == ["dav.load", "dav_fs.conf", "dav_fs.load"]
    assert both(("apache_module.enabled", "dav_fs"))[0][2] == "dav_fs already enabled."
    [depended] = both(("apache_module.disabled", "dav"))
    assert (depended[0], "need to be disabled first: dav_fs" in depended[2]) == (False, True)
    both(("apache_module.disabled", "dav_fs"), ("apache_module.disabled", "dav"))
    assert list(top.glob("mods-enabled/*")) == []


def test_what_the_program_refuses_is_foretold(both):
    both(("apache_module.enabled", "dav"), ("apache_module.enabled", "php"))
    assert both(("apache_module.enabled", "none"))[0][2].startswith(
        "Failed to enable none Apache module (Mod none Not found)"
    )
    [essential] = both(("apache_module.enabled", "alias"), ("apache_module.disabled", "alias"))[1:]
    assert essential[0] is False
    assert both(("apache_module.disabled", "dav"), ("apache_site.enabled", "needy"))[1][0] is False
    assert both(("apache_site.enabled", "../x"))[0][2] == "'../x' is no name of something that Apache has"


def test_the_names_that_debian_takes_instead(both, top):
    both(("apache_module.enabled", "mpm_event"), ("apache_module.enabled", "cgi"), ("apache_module.enabled", "cgi"))
    assert (top / "mods-enabled/cgid.load").is_symlink()
    both(("apache_site.enabled", "000-default"), ("apache_site.disabled", "default"))
    assert list(top.glob("sites-enabled/*")) == []


def test_the_module_switches_and_tells(top):
    call = Modules(Context(minion_id="m")).call
    enabled = {"Name": "Apache2 Enable Mod", "Mod": "dav", "Status": "Mod dav enabled"}
    assert call("apache.a2enmod", ("dav",)) == enabled
    assert call("apache.check_mod_enabled", ("dav.load",)) is True
    assert call("apache.a2dismod", ("dav",))["Status"] == "Mod dav disabled"
    assert call("apache.a2enmod", ("none",))["Status"] == "Mod none Not found"
    assert call("apache.a2ensite", ("000-default",))["Status"] == "Site 000-default enabled"
    assert call("apache.check_site_enabled", ("default",)) is True
    assert call("apache.check_conf_enabled", ("x",)) is False


def test_the_module_asks_the_server(tmp_path):
    call = Modules(Context(minion_id="m")).call
    assert call("apache.version").startswith("Apache/2.")
    assert call("apache.fullversion")["server_version"] == call("apache.version")
    assert "core.c" in call("apache.servermods")
    assert call("apache.directives")["<Directory (core.c)"].startswith("Container for directives")
    assert call("apache.signal", ("nonsense",)) is None


def test_users_of_a_password_file(tmp_path):
    if shutil.which("htpasswd") is None:
        pytest.skip("there is no htpasswd")
    call, file = Modules(Context(minion_id="m")).call, tmp_path / "users"
    assert call("apache.useradd", (str(file), "larry", "sesame"), {"opts": "s"})["retcode"] == 0
    assert file.read_text().startswith("larry:{SHA}")
    call("apache.useradd", (str(file), "moe", "x"))
    assert [line.partition(":")[0] for line in file.read_text().splitlines()] == ["larry", "moe"]
    call("apache.userdel", (str(file), "larry"))
    assert file.read_text().startswith("moe:")
    with pytest.raises(CallFailed, match="does not exist"):
        call("apache.userdel", (str(tmp_path / "none"), "larry"))


def test_configuration_that_says_nothing_certain_is_refused():
    assert configuration([{"Timeout": 5}]) == "Timeout 5"
    with pytest.raises(StateFailed, match='container "<Directory>" expects attribute'):
        configuration([{"VirtualHost": {"this": "*", "Directory": {"Options": "x"}}}])
    with pytest.raises(StateFailed, match="KeepAlive has no text as its value"):
        configuration([{"KeepAlive": True}])
    with pytest.raises(StateFailed, match="must be a mapping"):
        configuration(["Timeout 5"])
