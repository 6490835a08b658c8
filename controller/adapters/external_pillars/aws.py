"""Secrets of AWS: Secrets Manager and the parameters of Systems Manager.

botocore, and not boto3, which adds nothing here: it finds credentials as all of AWS's tools do (options, environment,
profiles, the role of a container or machine), signs, and tries again what AWS asks to be tried again.

Source: https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html,
https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetParametersByPath.html
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from controller.adapters.external_pillars import bounded_answers
from controller.adapters.external_pillars.named_secrets import TIMEOUT, KeptTexts, StoreKind, text_option
from extmods.timed_answers import TooManyBytes
from highstate.ports import SourceFailed

_OPTIONS = ("region", "keyid", "key", "profile", "endpoint_url")
_MOST_PARAMETERS = 1_000
"""Below one path."""
_ATTEMPTS = 2
_NOT_THERE = ("ResourceNotFoundException", "ParameterNotFound")


class _Client:
    """One service, with the credentials of the options."""

    def __init__(self, service: str, options: Mapping[str, Any]) -> None:
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError
        from botocore.session import Session

        given = {name: text_option(options, name) for name in _OPTIONS}
        if bool(given["keyid"]) != bool(given["key"]):
            raise SourceFailed("keyid and key are given together, or neither")
        try:
            # Two attempts of ten seconds: a compile waits a minute for an answer.
            settings = Config(
                connect_timeout=TIMEOUT / 2, read_timeout=TIMEOUT, retries={"total_max_attempts": _ATTEMPTS}
            )
            self._client = Session(profile=given["profile"]).create_client(
                service,
                region_name=given["region"],
                endpoint_url=given["endpoint_url"],
                aws_access_key_id=given["keyid"],
                aws_secret_access_key=given["key"],
                config=settings,
            )
            bounded_answers.bound_botocore(self._client, _ATTEMPTS)
        except (BotoCoreError, ValueError) as error:
            raise SourceFailed(f"AWS cannot be asked: {_kind(error)}") from error

    def ask(self, operation: str, permission: str, name: str, **arguments: Any) -> Mapping[str, Any] | None:
        """An answer; None when there is nothing. SourceFailed, whose text has no name of an account or address."""
        from botocore.exceptions import BotoCoreError, ClientError
        from botocore.parsers import ResponseParserError

        try:
            answer: Mapping[str, Any] = getattr(self._client, operation)(**arguments)
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", "no code"))
            if code in _NOT_THERE:
                return None
            needs = f"; the controller needs {permission}" if "AccessDenied" in code else ""
            raise SourceFailed(f"AWS does not give {name!r}: {code}{needs}") from error
        except BotoCoreError as error:
            if isinstance(cause := error.kwargs.get("error"), TooManyBytes):
                raise SourceFailed(str(cause)) from error
            raise SourceFailed(f"AWS cannot be asked for {name!r}: {_kind(error)}") from error
        except (ResponseParserError, RecursionError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise SourceFailed(f"the answer for {name!r} is none of AWS: {_kind(error)}") from error
        return answer


class SecretsManager:
    """`SecretStore`: the current version of a secret."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._client = _Client("secretsmanager", options)

    def read(self, name: str) -> KeptTexts:
        """See `SecretStore`."""
        found = self._client.ask("get_secret_value", "secretsmanager:GetSecretValue", name, SecretId=name)
        if found is None:
            return {}
        kept = found.get("SecretString", found.get("SecretBinary"))
        if not isinstance(kept, str | bytes):
            raise SourceFailed(f"the answer for {name!r} has no secret")
        return {"": kept}


class ParameterStore:
    """`SecretStore`: one parameter, or all below a path that ends with a slash; encrypted ones are decrypted."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._client = _Client("ssm", options)

    def read(self, name: str) -> KeptTexts:
        """See `SecretStore`."""
        if name.endswith("/"):
            return dict(self._below(name))
        found = self._client.ask("get_parameter", "ssm:GetParameter", name, Name=name, WithDecryption=True)
        if found is None:
            return {}
        value = (found.get("Parameter") or {}).get("Value")
        if not isinstance(value, str):
            raise SourceFailed(f"the answer for {name!r} has no value")
        return {"": value}

    def _below(self, path: str) -> Iterator[tuple[str, str]]:
        count, end = 0, time.monotonic() + bounded_answers.ANSWER_SECONDS
        more: dict[str, str] = {}
        while True:
            if time.monotonic() > end:
                raise SourceFailed(f"the pages of {path!r} do not end in time")
            found = self._client.ask(
                "get_parameters_by_path",
                "ssm:GetParametersByPath",
                path,
                Path=path,
                Recursive=True,
                WithDecryption=True,
                **more,
            )
            for each in (found or {}).get("Parameters", ()):
                count += 1
                if count > _MOST_PARAMETERS:
                    raise SourceFailed(f"{path!r} has more than {_MOST_PARAMETERS} parameters")
                yield str(each.get("Name", "")).removeprefix(path), str(each.get("Value", ""))
            token = (found or {}).get("NextToken")
            if not token:
                return
            more = {"NextToken": token}


SECRETS_MANAGER = StoreKind(names="secrets", options=_OPTIONS, extra="aws", store=SecretsManager)
PARAMETERS = StoreKind(names="parameters", options=_OPTIONS, extra="aws", store=ParameterStore)


def _kind(error: Exception) -> str:
    """What went wrong without the text, which may have an address or a path of the controller in it."""
    return type(error).__name__
