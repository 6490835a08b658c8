"""Which options a reload changes, and which need a restart."""

from __future__ import annotations

import pytest

from controller.config.settings import KNOWN, BadControllerSettings, load_settings
from controller.reload.option_changes import RELOADED, load_checked, option_changes, settings_in_force

REMOTE = "gitfs_remotes: [https://git.example.org/a.git]\n"


@pytest.fixture
def read(tmp_path):
    def read(text: str, reactor: str = ""):
        (tmp_path / "controller").write_text(text)
        (tmp_path / "reactor").write_text(reactor)
        return load_settings(tmp_path)

    return read


def test_options_that_are_reloaded_are_known():
    assert RELOADED < KNOWN


def test_each_difference_is_named_once(read):
    started = read(f"{REMOTE}hook_secret: a\nkeep_runs: 5\nret_port: 4506\n")
    new = read(f"{REMOTE}hook_secret: b\nevents_token: t\nret_port: 5506\nmy_sdb: {{driver: env}}\n")
    found = option_changes(started, started, new)
    assert found.reloaded == ("events_token", "hook_secret", "keep_runs")
    assert found.restart == ("my_sdb", "ret_port")


def test_what_waits_for_a_restart_is_told_until_it_is_taken_back(read):
    started = read(f"{REMOTE}hook_secret: a\n")
    second = read(f"{REMOTE}hook_secret: b\nret_port: 5506\n")
    third = read(f"{REMOTE}hook_secret: b\nret_port: 5506\nkeep_runs: 7\n")
    found = option_changes(started, second, third)
    assert (found.reloaded, found.restart) == (("keep_runs",), ("ret_port",))
    found = option_changes(started, third, read(f"{REMOTE}hook_secret: b\n"))
    assert (found.reloaded, found.restart) == (("keep_runs",), ())


def test_values_differ_by_their_kind_and_reactors_by_their_order(read):
    started = read("keep_runs: 1\nreactor:\n  - 'a/*': [/srv/a.sls]\n  - 'b/*': [/srv/b.sls]\n")
    new = read("reactor:\n  - 'b/*': [/srv/b.sls]\n  - 'a/*': [/srv/a.sls]\n")
    assert option_changes(started, started, new).restart == ("reactor",)
    same = read("# a line above\nkeep_runs: 1\nreactor:\n  - 'a/*': [/srv/a.sls]\n  - 'b/*': [/srv/b.sls]\n")
    found = option_changes(started, started, same)
    assert (found.reloaded, found.restart) == ((), ())


def test_reactors_in_a_file_of_their_own(read, tmp_path):
    text = f"reactor: {tmp_path}/reactor\n"
    started = read(text, "- 'a/*': [/srv/a.sls]\n")
    assert option_changes(started, started, read(text, "- 'a/*': [/srv/a.sls]\n")).restart == ()
    assert option_changes(started, started, read(text, "- 'b/*': [/srv/a.sls]\n")).restart == ("reactor",)


def test_what_needs_a_restart_stays_in_force(read, tmp_path):
    started = read(f"root_dir: {tmp_path}/a\nautosign_file: /etc/one\nret_port: 5000\n")
    new = read(f"root_dir: {tmp_path}/b\nautosign_file: /etc/two\nret_port: 6000\nauto_accept: true\n")
    found = settings_in_force(started, new)
    assert (found.ret_port, found.root_dir, found.auto_accept) == (5000, tmp_path / "a", True)
    assert found.autosign_file == tmp_path / "a/etc/two"


def test_all_is_checked_as_before_a_start(read, tmp_path):
    read("")
    with pytest.raises(BadControllerSettings, match="no configuration any more"):
        load_checked(tmp_path)
    read("gitfs_remotes: [{https://git.example.org/a.git: [{rooot: states}]}]\n")
    with pytest.raises(BadControllerSettings, match="rooot"):
        load_checked(tmp_path)


def test_all_faults_are_told_at_once(read, tmp_path):
    """Those of the options of git were told once the others were mended."""
    (tmp_path / "controller").write_text("foo: 1\ngitfs_update_intervall: 3\nbar: 2\ngitfs_rooot: x\n")
    with pytest.raises(BadControllerSettings) as raised:
        load_checked(tmp_path)
    assert [fault.place.rpartition(":")[2] for fault in raised.value.faults] == ["1", "2", "3", "4"]
    assert "gitfs_update_interval" in str(raised.value), "a near name is offered"
