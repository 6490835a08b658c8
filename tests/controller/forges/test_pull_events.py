"""Webhooks of pull requests: which deliveries say something of one, and of which."""

from __future__ import annotations

import hashlib
import hmac
import json

import pytest
from forge_descriptions import described
from hypothesis import given
from hypothesis import strategies as st

from controller.forges import webhooks
from controller.forges.pull_hints import PullHint, same_project

SECRET = b"s3cret-word"

REPOSITORY = {"full_name": "Infra/states"}
AZURE = {"name": "states", "project": {"name": "Infra"}}
DATA_CENTER = {"toRef": {"repository": {"slug": "states", "project": {"key": "INFRA"}}}, "id": 7}

PULLS = {
    "github pull request": (
        {"x-github-event": "pull_request"},
        {"repository": REPOSITORY, "pull_request": {"number": 7}},
    ),
    "github comment": (
        {"x-github-event": "issue_comment"},
        {"repository": REPOSITORY, "issue": {"number": 7, "pull_request": {"url": "x"}}},
    ),
    "github run the check again": (
        {"x-github-event": "check_run"},
        {"action": "rerequested", "repository": REPOSITORY, "check_run": {"pull_requests": [{"number": 7}]}},
    ),
    "gitea pull request": (
        {"x-gitea-event": "pull_request", "x-github-event": "pull_request"},
        {"number": 7, "repository": REPOSITORY, "pull_request": {"number": 7}},
    ),
    "forgejo push to the pull request": (
        {"x-forgejo-event": "pull_request_sync", "x-gitea-event": "pull_request_sync"},
        {"repository": REPOSITORY, "pull_request": {"number": 7}},
    ),
    "gitea comment": (
        {"x-gitea-event": "issue_comment", "x-github-event": "issue_comment"},
        {"is_pull": True, "repository": REPOSITORY, "issue": {"number": 7}},
    ),
    "gitlab merge request": (
        {"x-gitlab-event": "Merge Request Hook"},
        {
            "object_kind": "merge_request",
            "project": {"path_with_namespace": "infra/states"},
            "object_attributes": {"iid": 7, "id": 9000},
        },
    ),
    "gitlab comment": (
        {"x-gitlab-event": "Note Hook"},
        {"object_kind": "note", "project": {"path_with_namespace": "infra/states"}, "merge_request": {"iid": 7}},
    ),
    "bitbucket cloud": ({"x-event-key": "pullrequest:updated"}, {"repository": REPOSITORY, "pullrequest": {"id": 7}}),
    "bitbucket data center": ({"x-event-key": "pr:from_ref_updated"}, {"pullRequest": DATA_CENTER}),
    "azure devops": (
        {},
        {"eventType": "git.pullrequest.updated", "resource": {"pullRequestId": 7, "repository": AZURE}},
    ),
    "azure devops comment": (
        {},
        {
            "eventType": "ms.vss-code.git-pullrequest-comment-event",
            "resource": {"comment": {"id": 1}, "pullRequest": {"pullRequestId": 7, "repository": AZURE}},
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PULLS)
def test_each_forge_names_the_pull_request(name):
    headers, payload = PULLS[name]
    found = webhooks.pull_of(headers, payload)
    assert found is not None
    assert found.number == 7
    assert same_project(found.project, "infra/states")


NO_PULLS = {
    "push": ({"x-github-event": "push"}, {"repository": REPOSITORY}),
    "comment on an issue": ({"x-github-event": "issue_comment"}, {"repository": REPOSITORY, "issue": {"number": 7}}),
    "gitea issue": (
        {"x-gitea-event": "issue_comment", "x-github-event": "issue_comment"},
        {"is_pull": False, "repository": REPOSITORY, "issue": {"number": 7, "pull_request": None}},
    ),
    "gitlab comment on a commit": (
        {},
        {"object_kind": "note", "project": {"path_with_namespace": "infra/states"}, "commit": {}},
    ),
    "a check of its own": (
        {"x-github-event": "check_run"},
        {"action": "completed", "repository": REPOSITORY, "check_run": {"pull_requests": [{"number": 7}]}},
    ),
    "azure push": ({}, {"eventType": "git.push", "resource": {"repository": AZURE, "pullRequestId": 7}}),
    "number as text": (
        {"x-github-event": "pull_request"},
        {"repository": REPOSITORY, "pull_request": {"number": "7"}},
    ),
    "no number": ({"x-github-event": "pull_request"}, {"repository": REPOSITORY, "pull_request": {"number": True}}),
    "huge": ({"x-github-event": "pull_request"}, {"repository": REPOSITORY, "pull_request": {"number": 2**60}}),
    "nothing": ({}, None),
}


@pytest.mark.parametrize("name", NO_PULLS)
def test_other_deliveries_name_none(name):
    assert webhooks.pull_of(*NO_PULLS[name]) is None


EVENTS = ("pull_request", "issue_comment", "check_run", "pullrequest:x", "pr:x")
HEADERS = st.dictionaries(
    st.sampled_from(["x-github-event", "x-gitea-event", "x-event-key"]), st.sampled_from(EVENTS), max_size=2
)
KEYS = st.sampled_from(
    ["pull_request", "repository", "issue", "check_run", "pull_requests", "number", "full_name", "resource"]
)
PAYLOADS = st.recursive(
    st.none() | st.text() | st.integers(), lambda each: st.lists(each) | st.dictionaries(KEYS, each), max_leaves=20
)


@given(HEADERS, PAYLOADS)
def test_any_payload_gives_a_hint_or_none(headers, payload):
    found = webhooks.pull_of(headers, payload)
    assert found is None or isinstance(found, PullHint)


def test_published_examples_of_github():
    seen = {}
    for event in described("github-webhooks.json"):
        for example in event["examples"]:
            body = json.dumps(example).encode()
            signature = hmac.new(SECRET, body, hashlib.sha256).hexdigest()
            headers = {"x-github-event": event["name"], "x-hub-signature-256": f"sha256={signature}"}
            assert webhooks.verify(SECRET, headers, body)
            assert not webhooks.verify(SECRET, headers, body + b" ")
            found = webhooks.pull_of(headers, webhooks.payload_of(body))
            seen.setdefault(event["name"], []).append((found, example))
    for name in ("pull_request", "pull_request_review", "pull_request_review_comment"):
        assert seen[name]
        for found, example in seen[name]:
            assert found == PullHint(
                project=example["repository"]["full_name"], number=example["pull_request"]["number"]
            )
    for found, example in seen["issue_comment"]:
        assert (found is not None) == ("pull_request" in example["issue"])
    others = set(seen) - {"pull_request", "pull_request_review", "pull_request_review_comment"}
    assert all(found is None for name in others - {"issue_comment", "check_run"} for found, _ in seen[name])
