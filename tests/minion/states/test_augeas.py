"""Files as trees of Augeas: the new content is foretold, and written as any other file."""

import ctypes.util
import os
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minion.engine import registry
from minion.execution import CallFailed, Context, Modules
from minion.machine.machine import LocalMachine
from minion.providers.augeas.commands import parsed
from minion.providers.augeas.trees import AugeasTrees
from minion.states.file.paths import behind

pytestmark = pytest.mark.skipif(
    ctypes.util.find_library("augeas") is None or find_spec("augeas") is None,
    reason="libaugeas, or its library for Python, is not installed",
)

HOSTS = "127.0.0.1 localhost\n# kept\n10.0.0.1\tdb   old-db # main\n"


@pytest.fixture
def hosts(tmp_path):
    (tmp_path / "hosts").write_text(HOSTS)
    return tmp_path / "hosts"


@pytest.fixture
def change(converge, hosts):
    def called(*changes, lens="Hosts.lns", **more):
        return converge(
            "augeas.change", "x", **{"context": f"/files{hosts}", "lens": lens, "changes": [*changes], **more}
        )

    return called


def call(fun, *args, **kwargs):
    return Modules(Context(minion_id="m")).call(f"augeas.{fun}", args, kwargs)


def test_the_rest_of_a_file_stays(change, hosts):
    hosts.chmod(0o640)
    made = change("set 1/canonical web", "set \"*[ipaddr='10.0.0.1']/alias\" new-db", "rm #comment")
    assert hosts.read_text() == "127.0.0.1 web\n10.0.0.1\tdb   new-db # main\n"
    assert made.changes == {
        "diff": "--- \n+++ \n@@ -1,3 +1,2 @@\n-127.0.0.1 localhost\n-# kept\n-10.0.0.1\tdb   old-db # main\n"
        "+127.0.0.1 web\n+10.0.0.1\tdb   new-db # main\n"
    }
    assert hosts.stat().st_mode & 0o777 == 0o640
    assert change("set 1/canonical web").comment == "No changes made"


def test_setm_and_whole_paths(change, hosts):
    path = f"/files{hosts}"
    assert change(f"setm {path}/*[ipaddr] canonical same", context=None).changes
    assert hosts.read_text().count("same") == 2
    made = change(f"set {path}/1/canonical a", f"set {path}/2/canonical b", context=None)
    assert "-10.0.0.1\tsame" in made.changes["diff"]


def test_what_would_change_again_says_so(converge, hosts):
    plan = registry.find("augeas", "change", "s").plan(
        LocalMachine(sources_port=None), "x",
        {"context": f"/files{hosts}", "lens": "Hosts.lns", "changes": ["set 01/ipaddr 10.0.0.9", "set 01/canonical n"]},
    )  # fmt: skip
    assert not plan.converges
    assert "unless" in plan.warnings[0]
    assert plan.changes[0].reported.endswith("+10.0.0.9\tn\n")
    for commands in (["mv 1 9"], ["ins 7 before 1", "set 7/ipaddr 10.0.0.9", "set 7/canonical n"]):
        again = registry.find("augeas", "change", "s").plan(
            LocalMachine(sources_port=None),
            "x",
            {"context": f"/files{hosts}", "lens": "Hosts.lns", "changes": commands},
        )
        assert (again.converges, len(again.changes)) == (False, 1)


def test_files_come_and_go(converge, tmp_path):
    new = tmp_path / "new"
    given = {"context": f"/files{new}", "lens": "Hosts.lns"}
    made = converge("augeas.change", "x", changes=["set 1/ipaddr 10.0.0.1", "set 1/canonical n"], **given)
    assert made.changes["diff"] == "--- \n+++ \n@@ -0,0 +1 @@\n+10.0.0.1\tn\n"
    assert converge("augeas.change", "x", changes=["rm /"], **given).changes["diff"].endswith("-10.0.0.1\tn\n")
    assert not new.exists()
    (tmp_path / "bare").write_text("127.0.0.1 a")  # without an end of line
    converge("augeas.change", "x", changes=["set 1/canonical a"], context=f"/files{tmp_path}/bare", lens="Hosts.lns")
    assert (tmp_path / "bare").read_text() == "127.0.0.1 a"
    converge("augeas.change", "x", changes=["set 1/canonical b"], context=f"/files{tmp_path}/bare", lens="Hosts.lns")
    assert (tmp_path / "bare").read_text() == "127.0.0.1 b\n"


def test_symlinks_and_odd_names(converge, tmp_path):
    place = tmp_path / "a b(1)"
    place.write_text(HOSTS)
    (tmp_path / "link").symlink_to(place)
    for name in (place.name.replace(" ", "\\ ").replace("(", "\\(").replace(")", "\\)"), "link"):
        given = {"context": f"/files{tmp_path}/{name}", "lens": "Hosts.lns"}
        made = converge("augeas.change", "x", changes=[f"set 1/canonical {len(name)}"], **given)
        assert made.comment == "Changes have been saved"
        assert place.read_text().startswith(f"127.0.0.1 {len(name)}\n")
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize(
    ("changes", "more", "said"),
    [
        (["fly 1"], {}, "Command fly is not supported (yet)"),
        (["set"], {}, "set takes 1 or 2 arguments"),
        (["set 'x"], {}, "No closing quotation"),
        (["ins a inside b"], {}, 'Expected "before" or "after", not inside'),
        (["set */canonical x"], {}, "Too many matches"),
        (["set ho[ x"], {}, "Invalid path expression"),
        (["rm ho["], {}, "Invalid path expression"),
        (["mv nothing 7"], {}, "No match"),
        (["set wrong/x 1"], {}, "cannot be written with these changes by the lens Hosts.lns: Unexpected node"),
        (["set 1/canonical x"], {"lens": "Hosts"}, 'Did you mean "Hosts.lns"?'),
        (["set 1/canonical x"], {"lens": "Passwd.lns"}, "cannot be read by the lens Passwd.lns, line 1"),
        (["set 1/canonical x"], {"context": "/etc/hosts"}, "context must begin with /files/"),
        (["set 1/canonical x"], {"context": None}, "prefixed with /files"),
        (["set ../other x"], {}, "nothing would be written"),
        ("set 1/canonical x", {}, "'changes' must be specified as a list"),
        ([], {}, "'changes' must be specified as a list"),
        (["rm 1"], {"load_path": "/x"}, "'load_path' must be specified as a list"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said(converge, hosts, changes, more, said):
    arguments = {"context": f"/files{hosts}", "lens": "Hosts.lns", "changes": changes, **more}
    failed = converge("augeas.change", "x", **arguments)
    assert failed.result is False
    assert said in failed.comment
    assert hosts.read_text() == HOSTS


def test_content_that_is_no_text(change, hosts):
    hosts.write_bytes(b"127.0.0.1 \xe9\n")
    assert "is not in UTF-8" in change("set 1/canonical x").comment
    hosts.write_bytes(b"127.0.0.1 a\0\n")
    assert "NUL" in change("set 1/canonical x").comment


def test_own_lenses(change, hosts, tmp_path):
    lenses = tmp_path / "lenses"
    lenses.mkdir()
    (lenses / "mine.aug").write_text(
        'module Mine =\n let eol = Util.del_str "\\n"\n'
        ' let lns = [ key /[a-z]+/ . del /:/ ":" . store /[0-9]+/ . eol ]*\n'
    )
    hosts.write_text("a:1\nb:2\n")
    assert change("set b 3", lens="Mine.lns", load_path=[str(lenses)]).changes
    assert hosts.read_text() == "a:1\nb:3\n"
    assert "Can not find lens" in change("set b 4", lens="Mine.lns").comment


def test_lenses_are_found_by_the_path(converge):
    """Paths of files that there is a lens for need no lens: those of the machine, which are only looked at."""
    function = registry.find("augeas", "change", "s")
    machine = LocalMachine(sources_port=None)
    plan = function.plan(machine, "x", {"changes": ["set /files/etc/hosts/1/canonical saltern-case"]})
    assert "saltern-case" in str(plan.changes[0].reported)
    with pytest.raises(Exception, match="there is no lens for a file"):
        function.plan(machine, "x", {"changes": ["set /files/nothing/here 1"]})
    with pytest.raises(Exception, match="one file at a time"):
        function.plan(machine, "x", {"changes": ["set /files/etc/hosts/1/canonical a", "rm /files/etc/passwd/nobody"]})
    path = "/files/etc/modprobe.d/saltern-case.conf"
    new = function.plan(machine, "x", {"changes": [f"set {path}/alias x", f"set {path}/alias/modulename y"]})
    assert str(new.changes[0].reported).endswith("+alias x y\n")
    assert not Path("/etc/modprobe.d/saltern-case.conf").exists()


def test_the_module(hosts):
    path = f"/files{hosts}"
    lens = {"lens": "Hosts.lns"}
    assert call("execute", path, commands=["set 1/canonical web"], **lens) == {"retval": True}
    assert hosts.read_text().startswith("127.0.0.1 web\n")
    assert "not supported" in call("execute", path, commands=["fly 1"], **lens)["error"]
    first = call("match", "/files/etc/hosts/*[1]/ipaddr")
    assert list(first) == ["/files/etc/hosts/1/ipaddr"]
    address = first["/files/etc/hosts/1/ipaddr"]
    assert call("get", "/files/etc/hosts/1/", "ipaddr") == first
    assert call("get", "/files/etc/hosts/none") == {"/files/etc/hosts/none": ""}
    assert call("match", "/files/etc/hosts/1/ipaddr", "9.9.9.9") == {}
    assert call("ls", "/files/etc/hosts/1")["ipaddr"] == address
    assert "1/" in call("ls", "/files/etc/hosts")
    tree = call("tree", "/files/etc/hosts/")
    assert (tree["/files/etc/hosts"], tree["/files/etc/hosts/1/ipaddr"]) == (None, address)
    assert call("remove", "/files/etc/hosts/none") == {"retval": True, "count": 0}
    assert "Invalid path" in call("remove", "/files/etc/hosts/ho[")["error"]
    for words, said in ((("a",), "Uneven"), (("prefix=a", "prefix=b"), "Only one 'prefix='")):
        with pytest.raises(CallFailed, match=said):
            call("setvalue", *words)
    assert "no lens" in call("setvalue", f"{path}/1/canonical", "x")["error"]
    with pytest.raises(CallFailed, match="Too many matches"):
        call("get", "/files/etc/hosts/1/*")


def test_paths_of_many_files_are_libaugeass_own(hosts, monkeypatch):
    monkeypatch.setenv("AUGEAS_ROOT", str(hosts.parent))
    (hosts.parent / "etc").mkdir()
    (hosts.parent / "etc/hosts").write_text(HOSTS)
    assert call("match", "/files/*/hosts/1/canonical") == {"/files/etc/hosts/1/canonical": "localhost"}
    assert list(call("ls", "/files")) == ["etc/"]


@pytest.mark.skipif(os.geteuid() != 0, reason="it writes a file of the machine's, and takes it away again")
def test_values_are_set_by_paths(tmp_path):
    path = Path("/etc/modprobe.d/saltern-case.conf")
    path.write_text("alias a b\n")
    try:
        assert call("setvalue", f"prefix=/files{path}", "alias/modulename", "c") == {"retval": True}
        assert path.read_text() == "alias a c\n"
        assert call("remove", f"/files{path}/alias") == {"retval": True, "count": 2}
        assert path.read_text() == ""
    finally:
        path.unlink()


WORDS = st.text("abcdefghij.-", min_size=1, max_size=8).filter(lambda word: word[0] not in ".-")


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.sampled_from(["1/canonical", "2/canonical", "2/alias[1]", "1/alias[1]"]), WORDS), max_size=4)
)
def test_what_is_foretold_is_what_libaugeas_writes(tmp_path_factory, words):
    """Its own load and save of the same file are the other side."""
    from augeas import Augeas

    path = tmp_path_factory.mktemp("law") / "hosts"
    path.write_text(HOSTS)
    commands = [f"set /files{path}/{node} {word}" for node, word in words]
    trees = AugeasTrees(LocalMachine(sources_port=None), behind, "Hosts.lns")
    trees.load(str(path))
    for one in commands:
        trees.perform(parsed(one))
    foretold = [each.new.decode() for each in trees.changes()] or [HOSTS]
    augeas = Augeas(flags=Augeas.NO_MODL_AUTOLOAD)
    augeas.add_transform("Hosts.lns", str(path))
    augeas.load()
    for node, word in words:
        augeas.set(f"/files{path}/{node}", word)
    augeas.save()
    augeas.close()
    assert [path.read_text()] == foretold
