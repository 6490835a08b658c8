"""Which commit may go live: a pure decision about one candidate, from what was found out about it.

Called by `gitfs.mirror.mirror`, which finds out (`gitfs.mirror.signatures` checks signatures). Reads no clock and no
repository.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from gitfs.config.kinds import AbsoluteFile, ParentCount, Switch
from options.kinds import SecondsOrNever

ANYONE = "*"
"""As a signer: the owner of any key in the files of keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedBy:
    """Who may sign what the refs that match a glob point to."""

    refs: str
    signers: tuple[str, ...]
    """Principals of the file of allowed signers, fingerprints of keys, or `*` for everyone with a known key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LivePolicy:
    """What a commit must be like before it goes live. The defaults ask for a history without rewinds and no more."""

    allow_rewind: Switch = False
    """Accept a ref that was force-pushed or set back."""
    minimum_age: SecondsOrNever = 0.0
    """Seconds that a commit must have been seen on its ref before it takes the place of another one."""
    required_parents: ParentCount = 0
    """2: only merges go live."""
    signed_by: tuple[SignedBy, ...] = ()
    """The first rule that matches a ref counts; a ref that none matches needs no signature."""
    allowed_signers: AbsoluteFile = ""
    """File of SSH keys, as ssh-keygen(1) has it under ALLOWED SIGNERS."""
    gpg_keyring: AbsoluteFile = ""
    """File of exported GPG public keys."""

    def rule_of(self, name: str) -> SignedBy | None:
        """The rule for a branch or tag of this name."""
        return next((rule for rule in self.signed_by if fnmatchcase(name, rule.refs)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signer:
    """Whose good signature was found."""

    names: tuple[str, ...]
    """Principals and fingerprints that this key goes by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A commit that wants to go live, and what was found out about it."""

    name: str
    """Branch or tag."""
    commit: str
    parents: int = 1
    before: str | None = None
    """The commit that is live on this ref; None when there is none."""
    contains_before: bool = True
    seen: float = 0.0
    """When it was first seen on this ref, in seconds since the epoch."""
    signer: Signer | None = None
    fault: str = ""
    """Why there is no signer."""


def objection(policy: LivePolicy, candidate: Candidate, now: float) -> str | None:
    """Why the candidate cannot go live, for its author; None when it can."""
    return (
        _unsigned(policy.rule_of(candidate.name), candidate)
        or _too_few_parents(policy.required_parents, candidate)
        or _rewound(policy, candidate)
        or _too_young(policy.minimum_age, candidate, now)
    )


def _unsigned(rule: SignedBy | None, candidate: Candidate) -> str | None:
    if rule is None:
        return None
    if candidate.signer is None:
        return f"{candidate.commit[:8]} has no good signature: {candidate.fault or 'it is not signed'}"
    if ANYONE in rule.signers or _is_among(candidate.signer, rule.signers):
        return None
    return f"{candidate.commit[:8]} is signed by {candidate.signer.names[0]}, who may not sign {rule.refs!r}"


def _is_among(signer: Signer, allowed: Sequence[str]) -> bool:
    """Fingerprints may be written in short groups and in small letters; principals are compared as they are."""
    plain = {"".join(name.split()).upper() for name in allowed}
    return any(name in allowed or name.upper() in plain for name in signer.names)


def _too_few_parents(wanted: int, candidate: Candidate) -> str | None:
    if candidate.parents >= wanted:
        return None
    what = "a merge" if wanted == 2 else f"a commit with {wanted} parents"
    return f"{candidate.commit[:8]} is not {what}, and only such go live (`required_parents`)"


def _rewound(policy: LivePolicy, candidate: Candidate) -> str | None:
    if candidate.before is None or candidate.contains_before or policy.allow_rewind:
        return None
    return (
        f"it was set back or force-pushed: {candidate.commit[:8]} does not contain {candidate.before[:8]}, which stays "
        "live; push a commit that contains it, or set `allow_rewind`"
    )


def _too_young(minimum_age: float, candidate: Candidate, now: float) -> str | None:
    left = candidate.seen + minimum_age - now
    # What has nothing live yet does not wait: there is nothing to keep in the meantime.
    if candidate.before is None or left <= 0 or not minimum_age:
        return None
    return f"{candidate.commit[:8]} goes live in {left:.0f} s (`minimum_age`)"
