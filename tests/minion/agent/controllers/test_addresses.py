"""Which controllers the configuration names, and who else uses the cache directory."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from minion.agent.connection import take_cachedir
from minion.agent.controllers.addresses import known_controllers
from minion.config.files import BadMinionSettings
from minion.config.settings import load_settings
from wire.keys import load_or_create

HOLDER = """
import sys, pathlib
from minion.machine.file_locks import take_lock
assert take_lock(pathlib.Path(sys.argv[1]), wait=False) is not None
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def key(tmp_path):
    """A controller's public key."""
    return load_or_create(tmp_path / "controller" / "key").public


@pytest.fixture
def settings_of(tmp_path, key):
    def make(**changed):
        given = {
            "id": "web1",
            "master": "a.example.org",
            "controller_key": key,
            "root_dir": str(tmp_path / "root"),
            **changed,
        }
        (tmp_path / "minion").write_text(
            json.dumps({name: value for name, value in given.items() if value is not None})
        )
        return load_settings(tmp_path)

    return make


def test_one_controller_keeps_what_is_its_own_in_the_folder_of_keys(settings_of, key):
    settings = settings_of()
    [known] = known_controllers(settings)
    assert (known.name, known.address.host, known.address.request_port) == ("a.example.org", "a.example.org", 4506)
    assert (known.address.controller_key, known.folder) == (key, settings.pki_dir)


def test_each_of_several_has_its_key_and_its_folder(settings_of, key, tmp_path):
    other = load_or_create(tmp_path / "other" / "key").public
    settings = settings_of(
        master=["a", "b:5506", "::1", "[::1]:5507"],
        controller_key={"a": key, "b:5506": other, "::1": key, "[::1]:5507": other},
    )
    found = known_controllers(settings)
    assert [(each.address.host, each.address.request_port) for each in found] == [
        ("a", 4506),
        ("b", 5506),
        ("::1", 4506),
        ("::1", 5507),
    ]
    assert [each.address.controller_key for each in found] == [key, other, key, other]
    assert len({each.folder for each in found}) == 4


def test_one_key_may_be_that_of_all(settings_of, key):
    found = known_controllers(settings_of(master=["a", "b"]))
    assert [each.address.controller_key for each in found] == [key, key]


def test_master_type_disable_has_no_controller(settings_of):
    assert known_controllers(settings_of(master=None, controller_key=None, master_type="disable")) == ()


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"master": None}, "`master`"),
        ({"controller_key": None}, "`controller_key`"),
        ({"controller_key": "no key"}, "controller_key: "),
        ({"master": ["a", "b"], "controller_key": {"a": "x"}}, "b has none|controller_key: "),
        ({"controller_key": {"elsewhere": "x"}}, "elsewhere is not in `master`"),
        ({"master": "a:none"}, "master: a:none is no host"),
        ({"master": "a:70000"}, "master: a:70000 is no host"),
        ({"master": ["a", "a"]}, "a list of at most 16 different ones"),
        ({"master": [f"a{n}" for n in range(17)]}, "a list of at most 16 different ones"),
        ({"master_type": "func"}, "`func` is not built, write the list into `master`"),
        ({"master_type": "nonsense"}, "master_type must be"),
        ({"master_tries": -2}, "master_tries must be"),
    ],
)
def test_what_is_wrong_is_named(settings_of, changed, why):
    with pytest.raises(BadMinionSettings, match=why):
        known_controllers(settings_of(**changed))


def test_a_cache_directory_has_one_agent(settings_of):
    settings = settings_of()
    settings.cachedir.mkdir(parents=True)
    command = [sys.executable, "-c", HOLDER, str(settings.cachedir / "agent.lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(BadMinionSettings, match=rf"another agent \(process {other.pid}\)"):
            take_cachedir(settings)
        other.stdin.close()
    take_cachedir(settings)
    assert (settings.pki_dir / "minion.key").exists()


def test_a_relay_stands_before_a_controller(settings_of, key, tmp_path):
    relay = load_or_create(tmp_path / "relay" / "key").public
    [known] = known_controllers(settings_of(relay_key=relay))
    assert (known.address.controller_key, known.address.relay_key) == (key, relay)
    both = known_controllers(settings_of(master=["r", "c"], relay_key={"r": relay}, master_type="failover"))
    assert [each.address.relay_key for each in both] == [relay, ""]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"relay_key": "short"}, "relay_key: 'short' is no public key"),
        ({"relay_key": {"other": "x"}}, "relay_key: other is not in `master`"),
        ({"master": ["r", "c"], "relay_key": {"r": "OWN"}}, "several ways to one controller by relays"),
    ],
)
def test_a_relay_that_cannot_be_used_is_said(settings_of, key, changed, said):
    given = {**changed, "relay_key": {"r": key} if "master" in changed else changed["relay_key"]}
    with pytest.raises(BadMinionSettings, match=said):
        known_controllers(settings_of(**given))
