"""syslog-ng: what is written is what real Salt writes and syslog-ng reads; its daemon is started and ended."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from minion.execution import CallFailed, Context, Modules
from minion.machine.failure import StateFailed
from minion.providers.syslog_ng.daemon import StartOptions
from minion.providers.syslog_ng.statements import statement

RECORDED = json.loads(Path(__file__).with_name("syslog_ng.json").read_text())
"""Name, configuration, and what `syslog_ng.config` of Salt 3008.1 makes of them."""
needs_syslog_ng = pytest.mark.skipif(shutil.which("syslog-ng") is None, reason="syslog-ng is not installed")


@pytest.fixture
def context(tmp_path):
    return Context(minion_id="m", make_pillar=lambda: {"syslog_ng.config_file": f"{tmp_path}/ng.conf"})


@pytest.mark.parametrize(("name", "config", "text"), RECORDED, ids=[one[0] for one in RECORDED])
def test_statements_are_salts(name, config, text):
    assert statement(name, config) == text


@pytest.mark.parametrize(
    ("name", "config"),
    [("source.s", "x"), ("s", ["x"]), ("source.s", ["x"]), ("source.s", [{"a": 1, "b": 2}]), ("l", {"log": [{"a": 1}]}),
     ("source.s", [{"a": [{"b": [{"c": [["d"]]}]}]}]), ("l", {"log": [{"junction": ["x"]}]}),
     ("source.s", [{"a": [["b"]]}])],
)  # fmt: skip
def test_what_has_no_such_form_is_refused(name, config):
    with pytest.raises(StateFailed):
        statement(name, config)


@needs_syslog_ng
def test_syslog_ng_reads_what_is_written(converge, context, tmp_path):
    call = Modules(context).call
    version = call("syslog_ng.version")["stdout"]
    assert call("syslog_ng.write_version", (".".join(version.split(".")[:2]),))["result"] is True
    for name, config, text in RECORDED[:-3]:  # the last ones are no statements that syslog-ng knows
        if "tls" in name:
            continue  # it looks for the files of the keys
        done = converge("syslog_ng.config", name, config=config, machine=context.machine)
        assert (done.result, done.changes) == (True, {"new": text, "old": ""})
        assert (tmp_path / "ng.conf").read_text().endswith(f"{text}\n\n")
        again = converge("syslog_ng.config", name, config=config, machine=context.machine)
        assert again.comment == f"{tmp_path}/ng.conf has the statement already"
    checked = call("syslog_ng.config_test", (), {"cfgfile": f"{tmp_path}/ng.conf"})
    assert checked["retcode"] == 0, checked["stderr"]
    before = (tmp_path / "ng.conf").read_text()
    call("syslog_ng.write_version", (".".join(version.split(".")[:2]),))
    assert (tmp_path / "ng.conf").read_text() == before
    assert (
        converge("syslog_ng.config", "config.x", config="# no", write=False, machine=context.machine).comment
        == "# no\n"
    )
    call("syslog_ng.write_config", ("bad {",))
    assert call("syslog_ng.config_test", (), {"cfgfile": f"{tmp_path}/ng.conf"})["retcode"] != 0
    assert "basicfuncs" in call("syslog_ng.modules")["stdout"]
    assert call("syslog_ng.get_config_file") == f"{tmp_path}/ng.conf"
    with pytest.raises(CallFailed, match="There is no syslog-ng program"):
        call("syslog_ng.version", (str(tmp_path),))


def test_words_of_the_program():
    options = StartOptions(user="root", no_caps=True, enable_core=True, persist_file="/x", worker_threads="4")
    assert options.words() == ["--user=root", "--persist-file=/x", "--worker-threads=4", "--no-caps", "--enable-core"]


@needs_syslog_ng
@pytest.mark.e2e
def test_the_daemon(converge, context, tmp_path):
    """It is ended by its name: a daemon of the machine's own would be, too."""
    if subprocess.run(["pgrep", "-x", "syslog-ng"], capture_output=True).returncode == 0:
        pytest.skip("a syslog-ng of the machine's own runs")
    socket = tmp_path / "in.sock"
    call = Modules(context).call
    call("syslog_ng.write_version", (".".join(call("syslog_ng.version")["stdout"].split(".")[:2]),))
    for name, config in (("source.s", [{"unix-dgram": [f'"{socket}"']}]),
                         ("destination.d", [{"file": [f'"{tmp_path}/out"']}]),
                         ("l", {"log": [{"source": "s"}, {"destination": "d"}]})):  # fmt: skip
        converge("syslog_ng.config", name, config=config, machine=context.machine)
    given = {"pidfile": f"{tmp_path}/pid", "control": f"{tmp_path}/ctl", "persist_file": f"{tmp_path}/persist"}
    try:
        started = converge("syslog_ng.started", "x", machine=context.machine, **given)
        assert started.result is True
        assert started.changes["new"].startswith("syslog-ng --pidfile=")
        assert (
            converge("syslog_ng.started", "x", machine=context.machine, **given).comment
            == "Syslog-ng is already running"
        )
        assert Path(f"{tmp_path}/pid").read_text().strip().isdigit()
        reloaded = subprocess.run(["syslog-ng-ctl", "reload", "-c", f"{tmp_path}/ctl"], capture_output=True, text=True)
        assert reloaded.returncode == 0
    finally:
        stopped = converge("syslog_ng.stopped", "x", machine=context.machine)
    assert (stopped.result, stopped.changes["new"]) == (True, [])
    assert converge("syslog_ng.stopped", "x", machine=context.machine).comment == "Syslog-ng is not running"
    assert call("syslog_ng.stop", ("x",))["comment"] == "Syslog-ng is not running"
