"""What may lie in the place of a configuration file: every command that reads one refuses it at once, and names it."""

from __future__ import annotations

import os
import re

import pytest

from controller.config.settings import BadControllerSettings
from controller.reload.option_changes import load_checked
from minion.config.settings import BadMinionSettings
from minion.config.settings import load_settings as load_minion

SECONDS = 60
BOMB = "a0: &a0 [1]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30))


def put(path, kind):
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "many bytes":
            with path.open("wb") as file:
                file.truncate(8 << 30)
        case "bomb":
            path.write_text(BOMB)


SAID = {"fifo": "a fifo", "device": "a device", "many bytes": "more than 4194304 bytes", "bomb": "aliases unfold"}


@pytest.mark.parametrize("name", ["controller", "controller.d/x.conf"])
@pytest.mark.parametrize("kind", SAID)
def test_a_reload_and_a_start_refuse_it(config_dir, saltern, kind, name):
    put(config_dir / name, kind)
    with pytest.raises(BadControllerSettings) as raised:
        load_checked(config_dir)
    assert [(name in str(fault), SAID[kind] in str(fault)) for fault in raised.value.faults] == [(True, True)]
    started = saltern("controller", "-c", str(config_dir))
    assert (started.code, name in started.err, SAID[kind] in started.err) == (64, True, True), started


@pytest.mark.parametrize("name", ["minion", "minion.d/x.conf", "grains", "minion_id"])
@pytest.mark.parametrize("kind", SAID)
def test_a_minion_refuses_it(tmp_path, kind, name):
    put(tmp_path / name, kind)
    if (kind, name) == ("bomb", "minion_id"):
        return
    with pytest.raises(BadMinionSettings) as raised:
        load_minion(tmp_path, {} if name == "minion_id" else {"id": "web1"})
    assert name in str(raised.value)
    assert SAID[kind] in str(raised.value)


@pytest.mark.parametrize("kind", SAID)
def test_init_and_doctor_say_so(config_dir, saltern, tmp_path, kind):
    put(config_dir / "controller", kind)
    for command in (("init", "--yes", "--root-dir", str(tmp_path)), ("doctor",)):
        done = saltern(*command, "-c", str(config_dir))
        assert done.code != 0, command
        assert SAID[kind] in done.out + done.err, (command, done)
        assert str(config_dir / "controller") in done.out + done.err, (command, done)


@pytest.mark.parametrize("kind", SAID)
def test_migrate_check_says_so(saltern, tmp_path, kind):
    put(tmp_path / "salt/master", kind)
    done = saltern("migrate", "check", str(tmp_path / "salt"))
    assert f"{tmp_path}/salt/master" in done.out + done.err, done
    said = "leads out of" if kind == "device" else SAID[kind]  # it is a link, which is not followed there
    assert said in " ".join((done.out + done.err).split()), done


def test_a_file_that_an_option_names_is_looked_at_the_same_way(config_dir):
    put(config_dir / "reactors", "fifo")
    (config_dir / "controller").write_text(f"reactor: {config_dir}/reactors\n")
    with pytest.raises(BadControllerSettings, match=r"controller:1: reactor: .*/reactors is no file, but a fifo"):
        load_checked(config_dir)


def test_doctor_says_who_else_can_change_it(config_dir, saltern):
    (config_dir / "controller").chmod(0o666)
    done = saltern("doctor", "-c", str(config_dir))
    assert f"{config_dir}/controller has mode 0666: everybody can change it" in done.out, done
    assert re.search(r" (1 warning|(0|[2-9]|\d\d) warnings)$", done.err.strip()), done
    (config_dir / "controller").chmod(0o644)
    if os.geteuid() == 0:
        os.chown(config_dir / "controller", 1234, -1)
        done = saltern("doctor", "-c", str(config_dir))
        assert f"{config_dir}/controller belongs to uid 1234, who can change it" in done.out, done
