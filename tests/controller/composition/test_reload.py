"""Each option that a reload takes is followed by the parts of a controller that go by it."""

from __future__ import annotations

import pytest

from controller.composition.reload import follow_settings
from controller.config.settings import load_settings
from controller.reload.option_changes import RELOADED

SERVED = {"hook_secret", "events_token", "log_level"}
"""Of the process and of what it serves: tests/scenarios/test_reload.py."""
ACL = {"alice": ["test.*"]}

CASES = {
    "publisher_acl": (ACL, lambda parts: parts.access.settings.publisher_acl),
    "client_acl": (ACL, lambda parts: parts.access.settings.publisher_acl),
    "publisher_acl_blacklist": ({"users": ["bob"]}, lambda parts: parts.access.settings.blacklist_users),
    "client_acl_blacklist": ({"users": ["bob"]}, lambda parts: parts.access.settings.blacklist_users),
    "external_auth": ({"pam": ACL}, lambda parts: parts.access.logins.settings.external_auth),
    "peer": ({"web1": ["test.ping"]}, lambda parts: parts.handlers.answers.peers.settings.peer),
    "peer_run": ({"web1": ["test.arg"]}, lambda parts: parts.handlers.answers.peers.settings.peer_run),
    "api_roles": ({"viewer": ["carol"]}, lambda parts: parts.access.settings.roles),
    "permissive_acl": (True, lambda parts: parts.access.settings.permissive),
    "token_expire": (60, lambda parts: parts.access.logins.settings.token_expire),
    "auto_accept": (True, lambda parts: autosign(parts).auto_accept),
    "autosign_file": ("/etc/a", lambda parts: autosign(parts).autosign_file),
    "autoreject_file": ("/etc/b", lambda parts: autosign(parts).autoreject_file),
    "autosign_grains_dir": ("/etc/c", lambda parts: autosign(parts).autosign_grains_dir),
    "autosign_timeout": (5, lambda parts: autosign(parts).autosign_timeout),
    "permissive_pki_access": (True, lambda parts: autosign(parts).permissive_pki_access),
    "keep_runs": (7, lambda parts: (parts.handlers.results.keep_runs, parts.runners.keep_runs)),
    "prometheus_url": ("http://127.0.0.1:9090", lambda parts: parts.rollouts.gates.prometheus_url),
    "rollout_commands": ({"smoke": ["/bin/true"]}, lambda parts: parts.rollouts.gates.commands),
    "run_timeout": (9, lambda parts: parts.reconciler.run_timeout),
    "x509_ca_server": ("ca", lambda parts: parts.handlers.answers.peers.authority.settings.x509_ca_server),
    "x509_signing_policies": (
        {"web": {"minions": "web*", "signing_private_key": "/a", "signing_cert": "/b"}},
        lambda parts: dict(parts.handlers.answers.peers.authority.settings.x509_signing_policies),
    ),
    "schedule": ({"a": {"function": "test.arg", "hours": 1}}, lambda parts: sorted(parts.schedule.own.jobs)),
}
"""Option -> (value, what the parts go by)."""


def autosign(parts):
    return parts.handlers.keys.enrolment.autosign.settings


def test_all_are_tried():
    assert CASES.keys() | SERVED == RELOADED
    assert not CASES.keys() & SERVED


async def test_the_parts_follow(make_controller, tmp_path):
    parts = make_controller().parts
    file = tmp_path / "etc/controller"
    plain = file.read_text()
    for option, (value, looked_at) in CASES.items():
        before = looked_at(parts)
        file.write_text(f"{plain}{option}: {value!r}\n")
        follow_settings(parts, load_settings(tmp_path / "etc"))
        assert looked_at(parts) != before, option
        file.write_text(plain)
        follow_settings(parts, load_settings(tmp_path / "etc"))
        assert looked_at(parts) == before, option


@pytest.mark.parametrize("option", ["keep_runs", "run_timeout"])
async def test_runners_see_the_options_in_force(make_controller, tmp_path, option):
    parts = make_controller().parts
    with (tmp_path / "etc/controller").open("a") as file:
        file.write(f"{option}: 11\n")
    follow_settings(parts, load_settings(tmp_path / "etc"))
    assert getattr(parts.runners.ports.settings, option) == 11
