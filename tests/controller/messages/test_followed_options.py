"""Which options of a configuration minions are told, and that no other is."""

import json

from controller.config.settings import load_settings
from controller.messages.followed_options import followed_options

GIVEN = """
top_file_merging_strategy: same
env_order: [base, dev]
nodegroups: {web: 'web*'}
jinja_env: {lstrip_blocks: true}
failhard: true
state_aggregate: [pkg]
state_events: 3
hook_secret: hunter2
events_token: hunter2
store_url: postgresql://saltern:hunter2@db/saltern
ext_pillar: [{cmd_yaml: 'echo hunter2'}]
master_tops: {ext_nodes: 'tops --password hunter2'}
vault: {server: {url: 'https://vault.example.org'}, auth: {token: hunter2}}
db: {driver: env, password: hunter2}
"""


def _told(folder, text):
    (folder / "controller").write_text(text)
    return followed_options(load_settings(folder)).answer(7)


def test_options_are_told_as_they_are_set(tmp_path):
    found = _told(tmp_path, GIVEN)
    assert (found.request, found.tops) == (7, True)
    assert found.options["top_file_merging_strategy"] == "same"
    assert found.options["env_order"] == ["base", "dev"]
    assert found.options["nodegroups"] == {"web": "web*"}
    assert found.options["jinja_env"] == {"lstrip_blocks": True}
    assert (found.options["failhard"], found.options["state_aggregate"]) == (True, ["pkg"])
    assert "state_events" not in found.options  # of another type than Salt has it


def test_no_secret_of_the_configuration_is_told(tmp_path):
    assert "hunter2" not in json.dumps(_told(tmp_path, GIVEN).options)


def test_defaults(tmp_path):
    found = _told(tmp_path, "log_level: info\n")
    assert not found.tops
    assert found.options["state_top_saltenv"] == "base"  # the controller reads the top file of base alone
    assert "failhard" not in found.options
