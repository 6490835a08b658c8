"""Limits of what is asked of a forge. A border of `controller.config.limits`."""

from __future__ import annotations

from dataclasses import dataclass

from options.limits import LimitCount, LimitSeconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeLimits:
    """A forge whose API is asked."""

    call_seconds: LimitSeconds = 30.0
    """Seconds until a request to the API is answered completely; then it counts as not answered."""
    answer_bytes: LimitCount = 8 * 1024 * 1024
    """Bytes of one answer, unpacked; a larger one is not read to its end."""
    pages: LimitCount = 20
    """Pages of a list (of 50 to 100 entries) that are read; what follows is not looked at."""
    comments: LimitCount = 1000
    """Comments of a pull request that are looked at; of more, the oldest and what lies beyond `pages` are not."""
    pull_requests: LimitCount = 500
    """Open pull requests of a project that a poll looks at: those changed last."""
    annotations: LimitCount = 200
    """Annotations of a check that are sent."""
    requests_per_minute: LimitCount = 300
    """Requests to one forge; what needs more is done a minute later."""
    cached_bytes: LimitCount = 16 * 1024 * 1024
    """Bytes of answers of one forge that are kept, so that an unchanged one is not sent again."""
