"""`salt.exceptions`: what user modules raise and catch.

SaltException
├── CommandExecutionError ── CommandNotFoundError, PackageError
├── SaltInvocationError, ArgumentValueError, SaltConfigurationError, SaltRenderError, SaltReqTimeoutError
├── AuthenticationError, AuthorizationError, EauthAuthenticationError
└── MinionError, LoaderError, FileserverConfigError, TimedProcTimeoutError, NotImplemented
"""

from __future__ import annotations

from typing import Any


class SaltException(Exception):
    """The root."""

    def __init__(self, message: Any = "") -> None:
        super().__init__(str(message))
        self.message = self.strerror = str(message)


class CommandExecutionError(SaltException):
    """A command, or what a function does, failed; `info` may say more."""

    def __init__(self, message: Any = "", info: Any = None) -> None:
        super().__init__(message)
        self.info = info
        self.error = self.strerror_without_changes = self.message


class CommandNotFoundError(CommandExecutionError):
    """A program that is needed is not there."""


class PackageError(CommandExecutionError):
    """A package manager failed."""


class SaltInvocationError(SaltException, TypeError):
    """Wrong arguments."""


class ArgumentValueError(CommandExecutionError):
    """An argument of a wrong value."""


class SaltConfigurationError(SaltException):
    """A configuration that cannot be used."""


class SaltRenderError(SaltException):
    """A template that cannot be rendered."""


class SaltReqTimeoutError(SaltException):
    """No answer in time."""


class MinionError(SaltException):
    """The minion cannot do it."""


class LoaderError(SaltException):
    """A module cannot be loaded."""


class AuthenticationError(SaltException):
    """Not who it should be."""


class AuthorizationError(SaltException):
    """Who asks may not do this."""


class EauthAuthenticationError(SaltException):
    """A password or token is not right."""


class FileserverConfigError(SaltException):
    """A file server that is not set up."""


class TimedProcTimeoutError(SaltException):
    """A command took too long."""


class NotImplemented(SaltException):  # noqa: A001  (the name that user modules know)
    """Not available on this system."""


class SaltClientError(SaltException):
    """The master cannot be asked."""


class SaltCloudConfigError(SaltException):
    """A cloud provider that is not set up."""


class PkgParseError(SaltException):
    """A package manager's answer that cannot be read."""


class TemplateError(SaltException):
    """A template that cannot be rendered."""


class CheckError(CommandExecutionError):
    """A check did not hold."""


class SaltRunnerError(SaltException):
    """A runner failed."""


class SaltWheelError(SaltException):
    """A wheel function failed."""


class SaltCacheError(SaltException):
    """A cache cannot be used."""


class SaltDeserializationError(SaltException):
    """Data that cannot be read."""


class SaltValidationError(SaltException):
    """Data that is not as it should be."""


class SaltCloudSystemExit(SaltException):
    """A cloud function gives up."""


class SaltCloudNotFound(SaltException):
    """A cloud has no such thing."""


class InvalidConfigError(CommandExecutionError):
    """A configuration that is not as it should be."""


class InvalidEntityError(CommandExecutionError):
    """A thing that is not as it should be."""


class SaltSystemExit(SystemExit):
    """The process is to end."""

    def __init__(self, code: Any = 0, msg: Any = None) -> None:
        super().__init__(msg or code)
        self.message = msg


def get_error_message(error: Any) -> str:
    """What an error says."""
    return str(error.args[0]) if error.args else ""
