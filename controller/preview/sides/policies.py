"""saltern.yaml of the two sides of a preview: what it says, or why the whole revision would be refused.

Called by `preview` in a thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.config.limits import PreviewLimits
from controller.policy.policy import Policy
from controller.policy.reading import POLICY_FILE, PolicyInvalid, read_policy
from gitfs.source import Trees
from options.limits import CountRefusal


@dataclass(frozen=True, slots=True, kw_only=True)
class SidePolicy:
    """The policy of a tree."""

    policy: Policy | None
    """None where it cannot be used: the live one stands in its place."""
    problem: str = ""
    """Why it cannot."""
    refused: bool = False
    """Whether the tree would not go live with it."""


def side_policy(
    trees: Trees, limits: PreviewLimits, on_refusal: CountRefusal, nodegroups: Mapping[str, Any]
) -> SidePolicy:
    """What the saltern.yaml of a tree says; `on_refusal` counts one that is too large to be read for a preview.

    `nodegroups`: of the configuration.
    """
    try:
        size = len(trees.files.read(POLICY_FILE))
    except FileNotFoundError:
        return SidePolicy(policy=Policy())
    if size > limits.policy_bytes:
        on_refusal("policy-bytes")
        text = f"{POLICY_FILE} has {size} bytes; a preview reads {limits.policy_bytes} (limits: preview: policy_bytes)"
        return SidePolicy(policy=None, problem=f"{text}. The policy that is live was used in its place.")
    try:
        return SidePolicy(policy=read_policy(trees.files, nodegroups))
    except PolicyInvalid as error:
        text = f"The whole revision would be refused, and nothing of it applied: {error.problem}"
        return SidePolicy(
            policy=None,
            problem=f"{text}\nWhat is shown is what it would mean with the policy that is live.",
            refused=True,
        )
