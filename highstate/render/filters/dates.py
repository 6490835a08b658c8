"""Dates of the filters `strftime` and `date_format`: time stamps, ISO form, and as people write them in English."""

from __future__ import annotations

import datetime
import email.utils

from jinja2.exceptions import TemplateRuntimeError

from highstate.types import Value


def date_format(date: Value, form: str = "%Y-%m-%d") -> str:
    """A date, a time stamp (UTC) or text in ISO form."""
    if isinstance(date, datetime.datetime | datetime.date):
        return date.strftime(form)
    try:
        return datetime.datetime.fromtimestamp(float(date), datetime.UTC).strftime(form)
    except (TypeError, ValueError):
        pass
    found = _date_in_words(str(date).strip())
    if found is None:
        raise TemplateRuntimeError(f"{date!r} is no date that can be read here: write it as 2026-01-31")
    return found.strftime(form)


_DATE_FORMS = ("%d %b %Y", "%d %B %Y", "%b %d %Y", "%B %d %Y", "%b %d, %Y", "%B %d, %Y", "%Y/%m/%d", "%Y%m%d")


def _date_in_words(text: str) -> datetime.datetime | None:
    """A date in ISO form, in that of mails, or as people write it in English."""
    try:
        return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        pass
    for form in _DATE_FORMS:
        try:
            return datetime.datetime.strptime(text, form).replace(tzinfo=datetime.UTC)
        except ValueError:
            continue
    try:
        return email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
