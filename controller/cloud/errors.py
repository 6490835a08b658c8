"""Errors of clouds."""

from __future__ import annotations


class CloudFailed(Exception):
    """Something could not be done; the text says what and why, and has no secret of a provider."""
