"""Execution functions where Salt has no answer to compare with, or must not be asked on this machine."""

import signal
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from highstate.compile import CompileOptions
from highstate.files import MemoryFiles
from highstate.types import Minion
from minion.execution import CallFailed, Context, Modules, UnknownFunction
from minion.execution.lowstate_sources import RootsCompiler
from minion.execution.unsupported import NOT_BUILT


@pytest.fixture
def modules(tmp_path: Path) -> Modules:
    tree = MemoryFiles({"base": {"top.sls": b"base: {'*': [s]}", "s.sls": b"x: {test.nop: []}\ny: {test.nop: []}"}})
    return Modules(
        Context(
            minion_id="web1",
            make_files=lambda: tree,
            make_compiler=lambda: RootsCompiler(
                files=tree, pillar_files=MemoryFiles({}), minion=Minion(id="web1", grains={}), language=CompileOptions()
            ),
            cachedir=str(tmp_path / "cache"),
            config_dir=str(tmp_path / "etc"),
            backup_dir=str(tmp_path / "backups"),
        )
    )


@pytest.mark.parametrize(("fun", "reason"), sorted(NOT_BUILT.items()))
def test_what_is_not_built_says_why(modules: Modules, fun: str, reason: str) -> None:
    with pytest.raises(UnknownFunction) as caught:
        modules.call(fun)
    assert reason in str(caught.value)


def test_templates_have_no_function_that_ends_the_machines_work(modules: Modules) -> None:
    functions = modules.as_functions(language=True)
    assert "system.reboot" not in functions
    assert "system.get_system_date" in functions


def test_a_command_of_a_template_is_no_shells(modules: Modules) -> None:
    assert modules.call("cmd.run", ["echo a | cat"]) == "a"
    assert modules.as_functions()["cmd.run"]("echo a | cat") == "a | cat"
    assert modules.as_functions()["cmd.run"]("echo a | cat", python_shell=True) == "a"
    assert modules.as_functions()["cmd.shell"]("echo a | cat") == "a"


def test_static_grains_are_seen_and_kept(modules: Modules, tmp_path: Path) -> None:
    assert modules.call("grains.setval", ["role", "web"]) == {"role": "web"}
    assert modules.call("grains.get", ["role"]) == "web"
    assert (tmp_path / "etc" / "grains").read_text() == "role: web\n"
    (tmp_path / "etc" / "grains").write_text("[broken")
    with pytest.raises(CallFailed, match="is no YAML"):
        modules.call("grains.setval", ["role", "db"])


def test_the_serial_of_a_zone_is_kept(modules: Modules, tmp_path: Path) -> None:
    today = modules.call("dnsutil.serial", ["example.org"])
    assert today.endswith("01")
    assert not (tmp_path / "etc" / "grains").exists()
    modules.call("grains.setval", ["dnsserial_example.org", "9999010107"])
    assert modules.call("dnsutil.serial", ["example.org"]) == "9999010107"
    assert modules.call("dnsutil.serial", ["example.org"], {"update": True}) == "9999010108"
    assert modules.call("dnsutil.serial", ["example.org"]) == "9999010108"
    assert modules.call("dnsutil.serial", ["other.example.org"]).endswith("01")


def test_nothing_is_kept_where_there_is_no_place() -> None:
    modules = Modules(Context(minion_id="m"))
    for fun, args in (("grains.setval", ["a", 1]), ("data.update", ["a", 1]), ("state.request", ["s"])):
        with pytest.raises(CallFailed):
            modules.call(fun, args)


def test_all_values_may_be_given_as_python_writes_them(modules: Modules) -> None:
    assert modules.call("data.update", ["a", 1]) is True
    assert modules.call("data.dump", ["{'b': [True, None]}"]) is True
    assert modules.call("data.load") == {"b": [True, None]}
    for text in "['b']", "{'b': open('/x')}", "(" * 5000, "":
        assert modules.call("data.dump", [text]) is False
    assert modules.call("data.load") == {"b": [True, None]}


def test_an_archive_is_listed_by_what_it_names(modules: Modules, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as tar, zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        for name in "top/LICENSE", "top/bin/java":
            tar.addfile(tarfile.TarInfo(name))
            packed.writestr(name, "")
    nothing: dict[str, list[str]] = {"links": [], "top_level_files": [], "top_level_links": []}
    files = {"files": ["top/LICENSE", "top/bin/java"], "top_level_dirs": ["top/"], **nothing}
    of_tar = modules.call("archive.list", [str(tmp_path / "a.tar.gz")], {"verbose": True})
    assert of_tar == {"dirs": [], **files}
    of_zip = modules.call("archive.list", [str(tmp_path / "a.zip")], {"verbose": True})
    assert of_zip == {"dirs": ["top/", "top/bin/"], **files}
    assert modules.call("archive.list", [str(tmp_path / "a.tar.gz")]) == files["files"]
    cut = modules.call("archive.list", [str(tmp_path / "a.tar.gz")], {"strip_components": 1})
    assert cut == ["LICENSE", "bin/java"]


def test_requests_wait_for_a_word(modules: Modules) -> None:
    tried = modules.call("state.request", ["s"])
    assert {entry["result"] for entry in tried.values()} == {True}
    assert modules.call("state.check_request")["default"]["mods"] == "s"
    assert len(modules.call("state.run_request")) == 2
    assert modules.call("state.check_request") == {}
    assert modules.call("state.run_request") == {}


def test_what_is_disabled_does_not_run(modules: Modules) -> None:
    modules.call("state.disable", ["s"])
    with pytest.raises(CallFailed, match="currently disabled by 's'"):
        modules.call("state.apply", ["s"])
    modules.call("state.disable", ["highstate"])
    with pytest.raises(CallFailed, match="currently disabled"):
        modules.call("state.highstate")
    modules.call("state.enable", ["s,highstate"])
    assert len(modules.call("state.apply", ["s"])) == 2


def test_states_given_with_the_call(modules: Modules, tmp_path: Path) -> None:
    path = tmp_path / "made"
    data = {str(path): {"file.managed": [{"contents": "a"}]}}
    assert next(iter(modules.call("state.high", [data], {"test": True}).values()))["result"] is None
    assert not path.exists()
    modules.call("state.high", [data])
    assert path.read_text() == "a\n"
    modules.call("state.low", [{"state": "file", "fun": "absent", "name": str(path)}])
    assert not path.exists()
    sls = tmp_path / "one.sls"
    sls.write_text("{{ 'x' }}: {test.nop: []}")
    assert next(iter(modules.call("state.template", [str(sls)])))[:7] == "test_|-"
    with pytest.raises(CallFailed, match="cannot be found"):
        modules.call("state.template", [str(tmp_path / "none")])
    assert modules.call("state.show_state_usage")["base"]["used"] == ["s"]


def test_nothing_leads_out_of_the_cache(modules: Modules) -> None:
    top = modules.call("cp.cache_dest", ["salt://x"]).removesuffix("/x")
    assert modules.call("cp.cache_dest", ["salt://a/../../../x"]) == f"{top}/x"
    assert modules.call("cp.cache_dest", ["salt://x", "../.."]) == f"{top.removesuffix('/base')}/_../x"
    web = modules.call("cp.cache_dest", ["http://u:pw@a.test:81/b/../../../../c?d=/../../e"])
    assert web == f"{top.removesuffix('/files/base')}/extrn_files/base/a.test81/e"


def test_find_removes_what_it_names_and_nothing_behind_a_link(modules: Modules, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept.tmp").write_text("x")
    top = tmp_path / "top"
    top.mkdir()
    (top / "a.tmp").write_text("x")
    (top / "link").symlink_to(outside)
    assert modules.call("file.find", [str(top)], {"name": "*.tmp", "delete": "f"}) == [str(top / "a.tmp")]
    assert (outside / "kept.tmp").exists()


def test_removal_spares_mount_points(modules: Modules) -> None:
    with pytest.raises(CallFailed, match="something is mounted there"):
        modules.call("file.remove", ["/proc"])


def test_signals_reach_the_process_that_is_meant(modules: Modules) -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as process:
        assert modules.call("ps.kill_pid", [process.pid]) is True
        assert process.wait(20) == -signal.SIGTERM
    assert modules.call("ps.kill_pid", [process.pid]) is False


@pytest.mark.parametrize(
    ("fun", "args"),
    [
        ("git.checkout", ["/tmp", "--force"]),
        ("pkg.info_installed", ["--help"]),
        ("network.ping", ["-f"]),
        ("dnsutil.MX", ["@127.0.0.1"]),
        ("ssh.recv_known_host_entries", ["-oProxyCommand=x"]),
        ("pip.list_all_versions", ["--help"]),
        ("network.mod_hostname", ["a b"]),
        ("disk.usage", ["x;y"]),
        ("jinja.load_map", ["a.jinja", "x}}{{y"]),
        ("cmd.tty", ["../null", "x"]),
    ],
)
def test_arguments_that_would_be_taken_for_something_else(modules: Modules, fun: str, args: list[Any]) -> None:
    with pytest.raises(CallFailed):
        modules.call(fun, args)
