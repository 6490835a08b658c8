"""What the policy of a tree says of its compile, where there is no controller that has read it.

Called by `show` and `previewing`.
"""

from __future__ import annotations

from dataclasses import replace

from controller.policy.reading import POLICY_FILE, read_policy
from highstate.compile_options import CompileOptions
from highstate.types import Files


def with_policy(options: CompileOptions, files: Files) -> CompileOptions:
    """The options as the tree's `saltern.yaml` has them, if there is one. Raises PolicyInvalid."""
    if files.oid(POLICY_FILE) is None:
        return options
    return replace(options, missing_source=read_policy(files, options.nodegroups).missing_source)
