"""Asks PAM whether a password is right: `python -m saltern.run_module controller.access.pam_check`.

Modules of PAM are libraries of the system that may take long, leak or crash; in a process of its own they take down
nothing else. Reads JSON `{"service", "user", "password"}` from standard input; the exit code is 0 for yes, 3 for no, 2
for trouble, and the reason stands on standard output. A Python that cannot even begin ends with 1: no answer.
"""

from __future__ import annotations

import sys

import msgspec

YES, TROUBLE, NO = 0, 2, 3


class PamQuestion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is asked."""

    service: str
    user: str
    password: str


def main() -> int:
    """Ask, and tell."""
    question = msgspec.json.decode(sys.stdin.buffer.read(), type=PamQuestion)
    try:
        import pamela  # looks for libpam, which a machine may lack
    except (OSError, ImportError) as error:
        sys.stdout.write(f"PAM cannot be loaded: {error}")
        return TROUBLE
    try:
        pamela.authenticate(question.user, question.password, service=question.service, resetcred=0)
    except pamela.PAMError as error:
        sys.stdout.write(str(error))
        return NO
    return YES


if __name__ == "__main__":
    sys.exit(main())
