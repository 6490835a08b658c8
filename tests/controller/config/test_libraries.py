"""A configuration that needs a library which is not installed says which extra brings it."""

from __future__ import annotations

import sys

import pytest

from controller.config.checks import check_libraries
from controller.config.settings import BadControllerSettings, load_settings, port_options

VAULT = "vault: {server: {url: 'https://vault.example.org'}, auth: {method: token, token: t}}\n"
OIDC = "api: {port: 8443, plain_on_loopback: true, oidc: {issuer: 'https://id.example.org', audience: saltern}}\n"
CASES = [
    ("hvac", "vault", VAULT),
    ("pamela", "pam", "external_auth: {pam: {alice: [test.*]}}\n"),
    ("jwt", "oidc", OIDC),
    ("botocore", "aws", "ext_pillar: [{aws_secrets_manager: app/web}]\n"),
    ("botocore", "aws", "ext_pillar: [{aws_ssm: /app/}]\n"),
    ("google.auth", "google", "ext_pillar: [{google_secret_manager: {secrets: app, project: p}}]\n"),
    (
        "azure.identity",
        "azure",
        "ext_pillar: [{azure_key_vault: {secrets: app, vault_url: https://v.vault.azure.net}}]\n",
    ),
]


@pytest.mark.parametrize(("module", "extra", "text"), CASES)
def test_what_is_missing_is_named(tmp_path, monkeypatch, module, extra, text):
    (tmp_path / "controller").write_text("keep_runs: 5\n" + text)
    settings = load_settings(tmp_path)
    check_libraries(settings)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(BadControllerSettings) as caught:
        check_libraries(settings)
    (fault,) = caught.value.faults
    assert fault.place == f"{tmp_path}/controller:2"
    assert module in fault.message
    assert fault.hint == f"pip install 'saltern[{extra}]'"


def test_a_configuration_that_needs_none(tmp_path, monkeypatch):
    for module, _, _ in CASES:
        monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / "controller").write_text("keep_runs: 5\n")
    check_libraries(load_settings(tmp_path))


def test_an_offline_compile_with_a_vault(monkeypatch):
    options = {"vault": {"server": {"url": "https://vault.example.org"}, "auth": {"method": "token", "token": "t"}}}
    assert port_options(options).vault is not None
    monkeypatch.setitem(sys.modules, "hvac", None)
    with pytest.raises(ValueError, match=r"saltern\[vault\]"):
        port_options(options)
