"""What of the controller's configuration a minion follows that compiles by itself: an explicit list, and no more.

A stock salt-minion asks its master for these before it renders anything (`_master_opts`). No other option leaves the
controller: what is secret in a configuration stands under names that are not here.

Source: `_master_opts` of `AESFuncs` in `salt/master.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.config.settings import ControllerSettings
from wire.messages import OptionsFound

_OF_LANGUAGE = (
    "top_file_merging_strategy",
    "default_top",
    "env_order",
    "state_top",
    "state_top_saltenv",
    "state_auto_order",
    "nodegroups",
    "jinja_env",
    "jinja_sls_env",
)
"""Options that the controller compiles by as well."""
_AS_GIVEN: Mapping[str, type | tuple[type, ...]] = {
    "failhard": bool,
    "state_events": bool,
    "state_aggregate": (bool, list),
}
"""Options that mean something on a minion alone, and the types that they may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedOptions:
    """Them, and whether there are external tops."""

    options: Mapping[str, Any]
    tops: bool

    def answer(self, request: int) -> OptionsFound:
        """The answer to the question with this number."""
        return OptionsFound(request=request, options=dict(self.options), tops=self.tops)


def followed_options(settings: ControllerSettings) -> FollowedOptions:
    """Those of a configuration."""
    language = settings.language
    found = {name: _plain(getattr(language, name)) for name in _OF_LANGUAGE}
    for name, kinds in _AS_GIVEN.items():
        option = settings.given.get(name)
        if option is not None and isinstance(option.value, kinds):
            found[name] = _plain(option.value)
    return FollowedOptions(options=found, tops=bool(language.master_tops))


def _plain(value: Any) -> Any:
    """Values as messages carry them."""
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value
