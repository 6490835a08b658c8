"""Build statuses of commits, as both Bitbuckets have them. Pure."""

from __future__ import annotations

import hashlib

from controller.forges.client import CheckState, ForgeCheck

_KEY = 40
"""Characters that the key of a build status may have."""
_STATES = {
    CheckState.RUNNING: "INPROGRESS",
    CheckState.SUCCESS: "SUCCESSFUL",
    CheckState.FAILURE: "FAILED",
    CheckState.NEUTRAL: "SUCCESSFUL",
}


def build_status(check: ForgeCheck, *, cancelled: str, url: str) -> dict[str, str]:
    """The build status of a check. `cancelled`: the forge's word; `url`: where the check has none, which is needed."""
    return {
        "key": key_of(check.name),
        "state": _STATES.get(check.state, cancelled),
        "name": check.name,
        "description": check.title,
        "url": check.url or url,
    }


def key_of(name: str) -> str:
    """The key of the build status of a name."""
    return name if len(name) <= _KEY else hashlib.sha256(name.encode()).hexdigest()[:_KEY]
