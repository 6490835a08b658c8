"""`Caller`: execution functions on this machine, as `saltern call` runs them, in the caller's process.

Needs no controller and none of its libraries.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from extmods.salt_compat.exceptions import CommandExecutionError, SaltConfigurationError
from minion.call.arguments import parse_mixed
from minion.call.local_minion import LocalMinion
from minion.call.options import CallOptions
from minion.config.files import BadMinionSettings
from minion.config.settings import MinionSettings, load_settings
from minion.execution import CallFailed, Modules, UnknownFunction
from saltern.client.opts import config_dir_of, folder_of


class Caller:
    """Calls execution functions on this machine: `Caller().cmd("test.ping")`.

    Args:
        c_path: of the minion's configuration, `/etc/saltern/minion`, or of its folder; empty: `SALTERN_CONFIG_DIR`, or
            `/etc/saltern`.
        mopts: options as `minion_config` gives them, in place of `c_path`; `file_client`: `local` has states compiled
            from `file_roots`, and `id` is the minion's. Other options are those of the configuration.

    Raises:
        SaltConfigurationError: the configuration cannot be used.

    Source: salt.client.Caller.
    """

    def __init__(self, c_path: str = "", mopts: Mapping[str, Any] | None = None) -> None:
        folder = config_dir_of(mopts) if mopts else folder_of(c_path)
        self._options = CallOptions(fun="", config_dir=folder, local=(mopts or {}).get("file_client") == "local")
        self._settings = _settings(folder, mopts or {})
        self.opts = LocalMinion(self._options, self._settings).context().opts
        self.sminion = _Minion(self)

    def cmd(self, fun: str, *args: Any, **kwargs: Any) -> Any:
        """What an execution function returns.

        Args:
            fun: its name, `test.ping`.
            args: its arguments, as they are.
            kwargs: its named arguments.

        Raises:
            KeyError: there is no such function.
            CommandExecutionError: it failed; and whatever else it raises.
        """
        context = LocalMinion(self._options._replace(fun=fun), self._settings).context()
        try:
            return Modules(context).call(fun, args, kwargs)
        except UnknownFunction as error:
            raise KeyError(str(error)) from None
        except CallFailed as error:
            raise CommandExecutionError(str(error)) from error

    def function(self, fun: str, *args: Any, **kwargs: Any) -> Any:
        """As `cmd`, with texts `name=value` among the arguments read as named ones."""
        values, named = parse_mixed(args)
        return self.cmd(fun, *values, **{**named, **kwargs})


class _Minion:
    """`Caller().sminion.functions["test.ping"]()`, as older scripts have it."""

    def __init__(self, caller: Caller) -> None:
        self.opts = caller.opts
        self.functions = CallableFunctions(caller)


class CallableFunctions(Mapping[str, Callable[..., Any]]):
    """Execution functions by their names, as `__salt__` is in Salt's modules."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    @functools.cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(self._caller.cmd("sys.list_functions"))

    def __getitem__(self, fun: str) -> Callable[..., Any]:
        if fun not in self._names:
            raise KeyError(fun)
        return functools.partial(self._caller.cmd, fun)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _settings(folder: Path, mopts: Mapping[str, Any]) -> MinionSettings:
    try:
        return load_settings(folder, {"id": mopts["id"]} if mopts.get("id") else {})
    except BadMinionSettings as error:
        raise SaltConfigurationError(str(error)) from None
