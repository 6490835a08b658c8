"""The option `notifications`: receivers of all kinds, faults with their places, and no secret in any of them."""

import pytest

from controller.config.notifications import RECEIVER_KINDS, read_receivers
from gitfs.config.credentials import SecretFrom
from options.document import parse_document

GOOD = """notifications:
  receivers:
    chat: {kind: slack, url: {file: /etc/saltern/slack-url}}
    teams: {kind: teams, url: 'https://example.org/workflows/s3cret'}
    discord: {kind: discord, url: {env: DISCORD}}
    hook: {kind: webhook, url: 'http://10.0.0.1/in', secret: {vault: secret/hook?key}, ca_file: /etc/ca.pem}
    mail: {kind: email, host: mail.example.org, user: u, password: s3cret, sender: a@example.org, to: b@example.org}
    room: {kind: matrix, server: 'https://matrix.example.org/', room: '!a:example.org', token: s3cret}
    pager: {kind: pagerduty, routing_key: s3cret}
    alerts: {kind: opsgenie, api_key: s3cret}
    forge: {kind: commit_status, forge: forgejo}
"""


def read(text):
    faults = []
    found = read_receivers(parse_document(text, "controller").get("notifications"), ["forgejo"], faults)
    return {one.name: one for one in found}, [str(one) for one in faults]


def test_receivers_of_all_kinds():
    found, faults = read(GOOD)
    assert faults == []
    assert {one.kind for one in found.values()} == set(RECEIVER_KINDS)
    assert found["chat"].options.url == SecretFrom("file", "/etc/saltern/slack-url")
    assert (found["mail"].options.port_number, found["mail"].options.to) == (587, ("b@example.org",))
    assert found["room"].options.server == "https://matrix.example.org"
    assert (found["hook"].ca_file, found["hook"].place) == ("/etc/ca.pem", "controller:6")
    assert "s3cret" not in repr(found)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("{kind: slack}", "controller:3: notifications: a: slack needs url"),
        ("{kind: slac, url: x}", "did you mean slack"),
        (
            "{kind: slack, url: 'http://example.org/s3cret'}",
            "url must be an https address (http on this machine alone)",
        ),
        ("{kind: slack, url: 's3cret'}", "url must be an https address"),
        ("{kind: webhook, url: 'ftp://example.org/s3cret'}", "url must be an http or https address"),
        ("{kind: slack, ulr: x}", "there is no 'ulr'; did you mean url"),
        ("{kind: email, host: h, sender: a, to: b@example.org}", "sender must be an address"),
        ('{kind: email, host: h, sender: a@b, to: ["x@y\\nBcc: e@e"]}', "to must be addresses"),
        ("{kind: email, host: h, sender: a@b, to: c@d, user: u}", "user and password go together"),
        ("{kind: email, host: h, sender: a@b, to: c@d, user: u, password: s3cret, tls: none}", "`tls: starttls`"),
        ("{kind: commit_status, forge: github}", "there is no forge 'github'; there are forgejo"),
        ("[1]", "must be a mapping with a `kind`"),
    ],
)
def test_faults_have_their_places_and_no_secrets(given, said):
    found, faults = read(f"notifications:\n  receivers:\n    a: {given}\n")
    assert found == {}
    assert len(faults) == 1
    assert said in faults[0]
    assert faults[0].startswith("controller:3: ")
    assert "s3cret" not in faults[0]


def test_routes_do_not_belong_here():
    _, [fault] = read("notifications: {routes: []}\n")
    assert "routes and templates stand in saltern.yaml" in fault
