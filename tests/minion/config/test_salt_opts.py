"""The mapping of options that Salt's users see: what the files say, as they say it, whatever the minion makes of it."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from minion.agent.settings_reader import settings_from_child
from minion.call.call import main
from minion.call.options import CallOptions
from minion.config.salt_opts import salt_opts
from minion.config.settings import load_settings

WRITTEN = """
id: 42
controller: [one, 10.0.0.1]
ret_port: '4507'
publish_port: 4508
controller_key: key
root_dir: {root}
pki_dir: /pki
cachedir: /cache
log_file:
grains: {{role: web, 1: [a]}}
file_roots: {{base: {root}/states, dev: [/nowhere]}}
pillar_roots:
file_client: local
log_level: error
log_level_logfile: quiet
grains_refresh_every: 10
grains_cache: false
grains_cache_expiration: 7
state_output: Terse
failhard: true
backup_mode: minion
state_events: false
stop_grace: 3
pillarenv: base
saltenv:
state_queue: 2
state_top: top.sls
top_file_merging_strategy: same
env_order: base
default_top: base
state_auto_order: false
state_aggregate: [pkg]
state_max_parallel: 4
pillar_source_merging_strategy: recurse
pillar_merge_lists: true
ext_pillar_first: false
master_tops: {{}}
master_tops_first: true
nodegroups: {{webs: 'web*'}}
jinja_env: {{trim_blocks: true}}
jinja_sls_env: {{}}
beacons: {{load: []}}
schedule: {{job: {{function: test.ping, seconds: 3600}}}}
mine_functions: {{test.ping: []}}
mine_enabled: false
mine_interval: 5
rawfile_json.filename: /var/log/x
return: local , rawfile_json
environment: none
test: 1
resources: {{kind: {{}}}}
enable_fqdns_grains: 0
enable_gpu_grains: ''
enable_lspci: true
grains_blacklist: [uuid, ip*]
grains_deep_merge: 'yes'
metadata_server_grains: 'no'
state_verbose: 0
state_output_profile: null
state_output_profile_table: true
state_output_diff: false
state_output_pct: 'yes'
state_output_exclude: True,False
state_output_terse: [true]
state_tabular: pre
state_compress_ids: 1
module_dirs: {root}/modules
beacons_dirs: []
grains_dirs: null
returner_dirs: [/nowhere]
states_dirs: []
utils_dirs: []
status.uptime.custom: [days]
test.foo: mine
own: {{deep: [1, {{x: 2}}]}}
"""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    for name, text in {
        "conf/minion": WRITTEN.format(root=tmp_path),
        "modules/modules/own.py": "def opts():\n    return dict(__opts__)\n",
        "states/opts.sls": "a:\n  test.nop:\n    - opts: {{ opts | tojson | tojson }}\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def call(machine: Path, fun: str, *args: str) -> Any:
    out, err = io.StringIO(), io.StringIO()
    options = CallOptions(
        fun=fun, args=args, config_dir=machine / "conf", out="json", no_parse=("string",), returners="none"
    )
    assert main(options, out, err) == 0, err.getvalue()
    return json.loads(out.getvalue())["local"]


@pytest.fixture
def expected(machine: Path) -> dict[str, Any]:
    """Paths have `root_dir` in them, and where files are is said anyway; all else is as written."""
    written = yaml.safe_load((machine / "conf/minion").read_text())
    return written | {
        "id": "42", "pki_dir": f"{machine}/pki", "cachedir": f"{machine}/cache",
        "extension_modules": f"{machine}/cache/extmods", "config_dir": f"{machine}/conf",
        "conf_file": f"{machine}/conf/minion",
    }  # fmt: skip


def as_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


def test_execution_functions_see_what_is_written(machine: Path, expected: dict[str, Any]) -> None:
    known = as_json(expected)
    assert call(machine, "config.items") == known
    assert {name: call(machine, "config.get", name) for name in known} == known
    assert call(machine, "test.opts_pkg") == known


def seen_by_modules(expected: dict[str, Any]) -> dict[str, Any]:
    """In templates and modules `grains` are those of the machine."""
    return {name: value for name, value in as_json(expected).items() if name != "grains"}


def test_templates_see_what_is_written(machine: Path, expected: dict[str, Any]) -> None:
    known = seen_by_modules(expected)
    arguments = call(machine, "state.show_sls", "opts")["a"]["test"]
    seen = json.loads(next(one["opts"] for one in arguments if isinstance(one, dict) and "opts" in one))
    # Salt makes an address of it where states are compiled, and there only.
    assert {name: seen[name] for name in known} == known | {"state_top": "salt://top.sls"}
    each = ", ".join(f'"{name}": {{{{ opts["{name}"] | tojson }}}}' for name in known)
    assert call(machine, "slsutil.renderer", f"string={{{each}}}", "default_renderer=jinja|json") == known


def test_extension_modules_see_what_is_written(machine: Path, expected: dict[str, Any]) -> None:
    known = seen_by_modules(expected)
    seen = call(machine, "own.opts")
    assert {name: seen[name] for name in known} == known


def test_the_agent_has_the_same(machine: Path, expected: dict[str, Any]) -> None:
    assert salt_opts(settings_from_child(machine / "conf")) == expected


PATHS = ("root_dir", "pki_dir", "cachedir", "config_dir", "conf_file", "log_file", "sock_dir", "pidfile")


@pytest.mark.parametrize(
    ("written", "paths"),
    [
        ("", {"root_dir": "/", "pki_dir": "/etc/saltern/pki/minion", "cachedir": "/var/cache/saltern/minion"}),
        (
            "root_dir: /r\n",
            {"root_dir": "/r", "pki_dir": "/r/etc/saltern/pki/minion", "cachedir": "/r/var/cache/saltern/minion"},
        ),
        (
            "root_dir: /r\ncachedir: /abs/cache\npki_dir: /abs/pki\nlog_file: /abs/log\nsock_dir: /abs/sock\n"
            "pidfile: abs/pid\n",
            {
                "root_dir": "/r", "cachedir": "/r/abs/cache", "pki_dir": "/r/abs/pki", "log_file": "/r/abs/log",
                "sock_dir": "/r/abs/sock", "pidfile": "/r/abs/pid",
            },
        ),
        (
            "root_dir: /r/\ncachedir: /r/my/cache\nsock_dir: /r/s\npidfile: file:///p\n",
            {
                "root_dir": "/r", "cachedir": "/r/my/cache", "pki_dir": "/r/etc/saltern/pki/minion", "sock_dir": "/r/s",
                "pidfile": "file:///p",
            },
        ),
    ],
)  # fmt: skip
def test_paths_are_below_root_dir_as_in_salt(tmp_path: Path, written: str, paths: dict[str, str]) -> None:
    """As `salt.config.minion_config` of 3008.3 has them; the configuration itself is where it is."""
    (tmp_path / "minion").write_text(f"id: web1\n{written}")
    opts = salt_opts(load_settings(tmp_path))
    known = {"config_dir": str(tmp_path), "conf_file": str(tmp_path / "minion")} | paths
    assert {name: opts[name] for name in PATHS if name in opts} == known
    assert opts["extension_modules"] == f"{paths['cachedir']}/extmods"


def test_sls_of_a_masterless_minion_see_its_paths(tmp_path: Path) -> None:
    """Also those that its configuration does not name, and that the files are local."""
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/minion").write_text(f"id: web1\nroot_dir: {tmp_path}/r\nfile_roots: {{base: [{tmp_path}]}}\n")
    (tmp_path / "places.sls").write_text(
        "a:\n  test.nop:\n    - name: {{ opts.cachedir }} {{ salt['config.get']('pki_dir') }} {{ opts.file_client }}\n"
    )
    out, err = io.StringIO(), io.StringIO()
    options = CallOptions(
        fun="state.show_sls", args=("places",), config_dir=tmp_path / "conf", out="json", local=True, returners="none"
    )
    assert main(options, out, err) == 0, err.getvalue()
    arguments = json.loads(out.getvalue())["local"]["a"]["test"]
    root = f"{tmp_path}/r"
    assert {"name": f"{root}/var/cache/saltern/minion {root}/etc/saltern/pki/minion local"} in arguments
