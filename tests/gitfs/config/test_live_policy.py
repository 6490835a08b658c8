from __future__ import annotations

import pytest

from gitfs.config.live_policy import Candidate, LivePolicy, SignedBy, Signer, objection

OPS = Signer(names=("ops@example.org", "SHA256:abc"))
RULES = (SignedBy(refs="main", signers=("ops@example.org",)), SignedBy(refs="release/*", signers=("*",)))


def judge(now=1000.0, policy=None, **facts):
    given = {"name": "main", "commit": "c" * 40, "before": "b" * 40, "seen": now, **facts}
    return objection(policy or LivePolicy(), Candidate(**given), now)


def test_by_default_all_but_a_rewind_goes_live():
    assert judge() is None
    assert judge(before=None, contains_before=False) is None
    assert "force-pushed" in judge(contains_before=False)
    assert judge(LivePolicy(allow_rewind=True) and 1.0, LivePolicy(allow_rewind=True), contains_before=False) is None


@pytest.mark.parametrize(
    ("name", "signer", "expected"),
    [
        ("main", OPS, None),
        ("main", None, "no good signature: it is not signed"),
        ("main", Signer(names=("dev@example.org",)), "signed by dev@example.org, who may not"),
        ("release/1", Signer(names=("dev@example.org",)), None),
        ("release/1", None, "no good signature"),
        ("feature", None, None),
    ],
)
def test_who_may_sign(name, signer, expected):
    found = judge(policy=LivePolicy(signed_by=RULES), name=name, signer=signer)
    assert found is None if expected is None else expected in found


def test_a_fingerprint_may_be_written_as_gpg_shows_it():
    rule = SignedBy(refs="*", signers=("abcd 0123 ABCD 0123 abcd  0123 ABCD 0123 abcd 0123",))
    signer = Signer(names=("ABCD0123" * 5,))
    assert judge(policy=LivePolicy(signed_by=(rule,)), signer=signer) is None


def test_only_merges():
    policy = LivePolicy(required_parents=2)
    assert "not a merge" in judge(policy=policy)
    assert judge(policy=policy, parents=2) is None


def test_a_commit_waits_for_its_age():
    policy = LivePolicy(minimum_age=600)
    assert "goes live in 600 s" in judge(policy=policy)
    assert "goes live in 1 s" in judge(policy=policy, seen=401.0)
    assert judge(policy=policy, seen=400.0) is None
    assert judge(policy=policy, before=None) is None
