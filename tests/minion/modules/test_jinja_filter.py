"""What filters of templates ask of the machine, and that they ask it wherever a template is rendered on it."""

import datetime
import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from highstate.render.filters.live import LIVE_FILTERS
from minion.execution import CallFailed, Context, Modules


@pytest.fixture
def call():
    modules = Modules(Context(minion_id="web1"))
    return lambda fun, *args, **kwargs: modules.call(f"jinja_filter.{fun}", args, kwargs)


def test_kinds_of_files(call, tmp_path):
    files = {
        "text": b"hello\n",
        "none": b"",
        "zero": b"a\0b",
        "noise": bytes(range(128, 256)),
        "latin": b"caf\xe9 noir",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    found = {
        name: tuple(call(fun, str(tmp_path / name)) for fun in ("is_text_file", "is_bin_file", "is_empty"))
        for name in (*files, "absent")
    }
    assert found == {
        "text": (True, False, False),
        "none": (True, False, True),
        "zero": (False, True, False),
        "noise": (False, True, False),
        "latin": (True, False, False),
        "absent": (False, False, False),
    }


def test_list_files(call, tmp_path):
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/c").touch()
    assert call("list_files", str(tmp_path)) == [str(tmp_path / one) for one in ("", "a", "a/b", "a/b/c")]


def test_chance_and_clock(call):
    assert re.fullmatch(r"52:54:00(:[0-9A-F]{2}){3}", call("gen_mac", "52:54:00"))
    assert len(call("random_str", 40)) == 40
    assert call("random_str") != call("random_str")
    assert call("now", "%Y") in {str(datetime.datetime.now().year), str(datetime.datetime.now().year - 1)}
    with pytest.raises(CallFailed, match="from 0 to"):
        call("random_str", 10**9)


def test_names_are_resolved(call):
    assert call("dns_check", "127.0.0.1", 9) == "127.0.0.1"
    assert call("dns_check", "::1", 9, ipv6=True) == "[::1]"
    assert call("dns_check", "no.such.host.invalid", 9, safe=True) == ""
    with pytest.raises(CallFailed, match="lookup"):
        call("dns_check", "no.such.host.invalid", 9)


def test_each_filter_is_called_where_the_machine_compiles(tmp_path):
    """`saltern call --local` calls at once what a controller would have to ask."""
    (tmp_path / "states").mkdir()
    (tmp_path / "file").write_text("x")
    used = {
        "date_format": "none | date_format('%Y') | length",
        "dns_check": "'127.0.0.1' | dns_check(9)",
        "file_hashsum": f"('{tmp_path}/file' | file_hashsum)[:8]",
        "gen_mac": "'AC' | gen_mac | length",
        "get_uid": "'root' | get_uid",
        "is_bin_file": f"'{tmp_path}/file' | is_bin_file",
        "is_empty": f"'{tmp_path}/file' | is_empty",
        "is_text_file": f"'{tmp_path}/file' | is_text_file",
        "list_files": f"'{tmp_path}/states' | list_files | length",
        "rand_str": "99 | rand_str | length",
        "random_hash": "99 | random_hash('sha1') | length",
        "random_str": "7 | random_str | length",
        "shuffle": "[3, 1, 2] | shuffle | sort",
        "strftime": "none | strftime('%Y') | length",
        "which": "'sh' | which | length > 0",
    }
    assert used.keys() == LIVE_FILTERS.keys() - {"http_query"}, "which is tried where there is a server"
    lines = "".join(f"    - {name}: {{{{ {text} }}}}\n" for name, text in used.items())
    (tmp_path / "states/a.sls").write_text("a:\n  test.nop:\n" + lines)
    (tmp_path / "states/top.sls").write_text("base:\n  '*': [a]\n")
    command = [str(Path(sys.executable).with_name("saltern")), "call", "--local", "--config-dir", str(tmp_path)]
    options = ["--file-root", str(tmp_path / "states"), "--out", "json", "state.show_low_sls", "a"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [chunk] = json.loads(done.stdout)["local"]
    assert {name: chunk[name] for name in used} == {
        "date_format": 4,
        "dns_check": "127.0.0.1",
        "file_hashsum": hashlib.sha256(b"x").hexdigest()[:8],
        "gen_mac": 11,
        "get_uid": 0,
        "is_bin_file": False,
        "is_empty": False,
        "is_text_file": True,
        "list_files": 3,
        "rand_str": 32,
        "random_hash": 40,
        "random_str": 7,
        "shuffle": [1, 2, 3],
        "strftime": 4,
        "which": True,
    }
