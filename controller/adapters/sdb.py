"""`sdb.get` of profiles in the controller's configuration: drivers `yaml` (files) and `env`, as Salt 3008 has them, and
the secrets of clouds, by the code of the external pillars of the same names.

Called by `controller.compilation.runners` for compiles. A profile names files and variables of this machine, and asks
with its credentials: one of a tree or of pillar is never taken. Behaviour:
https://docs.saltproject.io/en/latest/ref/sdb/all/
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from controller.adapters.external_pillars import (
    KEY_VAULT,
    PARAMETERS,
    SECRET_MANAGER,
    SECRETS_MANAGER,
    NamedSecrets,
)
from controller.config.sections import SdbProfile
from highstate.ports import Decrypt, DecryptFailed, SecretFailed, SourceFailed
from highstate.render.ciphertext import decrypted
from highstate.render.yaml.loader import load_yaml
from highstate.traverse import merge, traverse

_CLOUDS = {
    "aws_secrets_manager": SECRETS_MANAGER,
    "aws_ssm": PARAMETERS,
    "azure_key_vault": KEY_VAULT,
    "google_secret_manager": SECRET_MANAGER,
}
DRIVERS = ("env", "yaml", *_CLOUDS)
_MOST_BYTES = 4 * 1024 * 1024


class Profiles:
    """The profiles of a configuration."""

    def __init__(
        self, configured: Mapping[str, SdbProfile], decrypt: Callable[[], Decrypt | None] = lambda: None
    ) -> None:
        self._profiles = dict(configured)
        self._decrypt = decrypt
        self._clouds = {driver: NamedSecrets(kind) for driver, kind in _CLOUDS.items()}

    def get(self, uri: str) -> Any:
        """The value at `sdb://profile/key`; None where there is none. SecretFailed when it cannot be looked for."""
        name, _, key = uri.removeprefix("sdb://").partition("/")
        profile = self._profiles.get(name)
        if profile is None or not key:
            known = ", ".join(sorted(self._profiles)) or "there are none"
            raise SecretFailed(f"{uri!r} names no profile of the controller's configuration with a key ({known})")
        if profile.driver == "env":
            return _variable(key, profile)
        if profile.driver in _CLOUDS:
            return self._of_cloud(key, profile)
        if profile.driver == "yaml":
            return traverse(self._values(name, profile), key, None)
        raise SecretFailed(f"the driver {profile.driver!r} of the profile {name!r} is not there ({', '.join(DRIVERS)})")

    def _of_cloud(self, key: str, profile: SdbProfile) -> Any:
        """A secret by its name; after a `?` what of it, where it is a mapping."""
        name, _, within = key.partition("?")
        _check_listed(name, profile)
        try:
            value = self._clouds[profile.driver].value(profile.options, name)
        except SourceFailed as error:
            raise SecretFailed(f"{profile.driver}: {error}") from error
        return traverse(value, within, None) if within else value

    def _values(self, name: str, profile: SdbProfile) -> Any:
        """The files of a profile merged, later ones over earlier ones."""
        values: Any = {}
        for number, path in enumerate(profile.files, 1):
            # Previews show errors to whoever may write a branch: where the files are is not for them.
            values = merge(
                values,
                _read(Path(path), f"file {number} of the sdb profile {name!r}"),
                strategy=profile.strategy,
                merge_lists=profile.merge_lists,
            )
        if not profile.gpg:
            return values
        try:
            return decrypted(values, self._plain)
        except DecryptFailed as error:
            raise SecretFailed(f"a value cannot be decrypted: {error}") from error

    def _plain(self, message: str) -> str:
        keyring = self._decrypt()
        if keyring is None:
            raise DecryptFailed("no keys are set up to decrypt with (option gpg_keydir)")
        return keyring.decrypt(message)


def _variable(key: str, profile: SdbProfile) -> str | None:
    _check_listed(key, profile)
    return os.environ.get(key)


def _check_listed(key: str, profile: SdbProfile) -> None:
    """SecretFailed where the configuration does not say that this may be read.

    Otherwise authors of templates could read every password in the environment of the controller, and every secret of
    its account.
    """
    if not any(fnmatch.fnmatchcase(key, one) for one in profile.keys):
        raise SecretFailed(f"the profile does not list {key!r} in `keys`")


def _read(path: Path, shown: str) -> Mapping[str, Any]:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise SecretFailed(f"{shown} has more than {_MOST_BYTES} bytes")
        data = load_yaml(path.read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SecretFailed(f"{shown} cannot be read: {type(error).__name__}") from error  # no text of it
    if not isinstance(data or {}, Mapping):
        raise SecretFailed(f"{shown} holds no mapping")
    return data or {}
