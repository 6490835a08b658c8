"""Filters that look at the machine, its clock or its network, or draw by chance: functions of the live machine.

Each asks `salt[...]` of the template that uses it, and so is answered where such functions are: at once in templates
that the machine itself renders, by the minion where the controller compiles and it may be asked, else an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jinja2

from highstate.render.filters.dates import date_format
from highstate.types import Value


def _asking(function: str, *also: Value) -> Callable[..., Value]:
    """A filter that calls a function with what it is given, and `also` behind that where nothing else is."""

    @jinja2.pass_context
    def ask(context: jinja2.runtime.Context, *arguments: Any, **named: Any) -> Value:
        given = arguments if len(arguments) > 1 or named else (*arguments, *also)
        return context.resolve("salt")[function](*given, **named)

    return ask


@jinja2.pass_context
def _strftime(context: jinja2.runtime.Context, date: Value = None, form: str = "%Y-%m-%d") -> Value:
    """`|strftime`; of nothing the machine's time."""
    if date is None:
        return context.resolve("salt")["jinja_filter.now"](form)
    return date_format(date, form)


LIVE_FILTERS: Mapping[str, Callable[..., Value]] = {
    "date_format": _strftime,
    "dns_check": _asking("jinja_filter.dns_check"),
    "file_hashsum": _asking("file.get_hash"),
    "gen_mac": _asking("jinja_filter.gen_mac"),
    "get_uid": _asking("file.user_to_uid"),
    "http_query": _asking("http.query"),
    "is_bin_file": _asking("jinja_filter.is_bin_file"),
    "is_empty": _asking("jinja_filter.is_empty"),
    "is_text_file": _asking("jinja_filter.is_text_file"),
    "list_files": _asking("jinja_filter.list_files"),
    "rand_str": _asking("test.random_hash", "md5"),
    "random_hash": _asking("test.random_hash", "md5"),
    "random_str": _asking("jinja_filter.random_str"),
    "shuffle": _asking("random.shuffle"),
    "strftime": _strftime,
    "which": _asking("cmd.which"),
}
