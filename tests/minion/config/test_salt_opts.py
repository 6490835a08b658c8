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
    """Paths have `root_dir` in them; all else is as written."""
    written = yaml.safe_load((machine / "conf/minion").read_text())
    return written | {"pki_dir": f"{machine}/pki", "cachedir": f"{machine}/cache"}


def as_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


def test_execution_functions_see_what_is_written(machine: Path, expected: dict[str, Any]) -> None:
    known = as_json(expected) | {"id": "42", "file_client": "local"}
    assert call(machine, "config.items") == known
    assert {name: call(machine, "config.get", name) for name in known} == known
    assert call(machine, "test.opts_pkg") == known


def seen_by_modules(expected: dict[str, Any]) -> dict[str, Any]:
    """In templates and modules `grains` are those of the machine."""
    return {name: value for name, value in as_json(expected).items() if name != "grains"} | {"id": "42"}


def test_templates_see_what_is_written(machine: Path, expected: dict[str, Any]) -> None:
    known = seen_by_modules(expected)
    arguments = call(machine, "state.show_sls", "opts")["a"]["test"]
    seen = json.loads(next(one["opts"] for one in arguments if isinstance(one, dict) and "opts" in one))
    assert {name: seen[name] for name in known} == known
    each = ", ".join(f'"{name}": {{{{ opts["{name}"] | tojson }}}}' for name in known)
    assert call(machine, "slsutil.renderer", f"string={{{each}}}", "default_renderer=jinja|json") == known


def test_extension_modules_see_what_is_written(machine: Path, expected: dict[str, Any]) -> None:
    known = seen_by_modules(expected)
    seen = call(machine, "own.opts")
    assert {name: seen[name] for name in known} == known


def test_the_agent_has_the_same(machine: Path, expected: dict[str, Any]) -> None:
    assert salt_opts(settings_from_child(machine / "conf")) == expected
