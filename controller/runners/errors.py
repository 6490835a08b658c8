"""What a call of a runner or a wheel can come to, besides its value.

ControllerCallFailed              the function says that it cannot (text for a person)
├── UnknownControllerFunction     there is none of this name
└── BadControllerArguments        it does not take these arguments
"""

from __future__ import annotations


class ControllerCallFailed(Exception):
    """The function cannot do what was asked."""


class UnknownControllerFunction(ControllerCallFailed):
    """No such function."""


class BadControllerArguments(ControllerCallFailed):
    """The function does not take these arguments."""
