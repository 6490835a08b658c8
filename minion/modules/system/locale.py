"""The execution module `locale`: locales that there are, and the one of the system. Debian's way."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from minion.execution.apply_state import act
from minion.execution.context import Context
from minion.states.locale import DEFAULT, normal_locale


def list_avail(context: Context) -> list[str]:
    """The locales that are generated."""
    return context.machine.query(["locale", "-a"]).stdout.split()


def avail(context: Context, locale: str) -> bool:
    """Whether a locale is generated, however its character set is written."""
    return normal_locale(locale) in {normal_locale(one) for one in list_avail(context)}


def get_locale(context: Context) -> str:
    """The locale of the system; empty when none is set."""
    if context.machine.stat(DEFAULT) is None:
        return ""
    found = re.search(r'(?m)^LANG="?([^"\n]*)"?\s*$', context.machine.read(DEFAULT).decode())
    return found[1] if found else ""


def set_locale(context: Context, locale: str) -> bool:
    """Set the locale of the system."""
    act(context, "locale.system", locale)
    return True


def gen_locale(context: Context, locale: str, **options: Any) -> bool:
    """Generate a locale."""
    act(context, "locale.present", locale)
    return avail(context, locale)


FUNCTIONS: Mapping[str, Any] = {
    "avail": avail,
    "gen_locale": gen_locale,
    "get_locale": get_locale,
    "list_avail": list_avail,
    "set_locale": set_locale,
}
