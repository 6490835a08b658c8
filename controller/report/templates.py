"""A tree's own wording of the comment: a Jinja template in the sandbox and bounds of the language, with fewer steps.

The template comes from the base, which is approved; its text is an argument, and nothing is read here. It is given the
parts of the comment, which are escaped, and the report as data, whose texts are not: the filters `code` and `fenced`
show these without effect. Pure; called by `comment`, outside the event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from controller.report.escape import code_span, fenced
from controller.schema.reports import PreviewReport

_STEPS = 200_000
"""Turns of loops and calls."""
_QUOTED = 400
TEMPLATE_CHARACTERS = 64 * 1024
"""Of the text of a template; a longer one is not used."""


class TemplateFailed(Exception):
    """The template cannot be used; the text says why."""


def render_template(source: str, report: PreviewReport, parts: Mapping[str, str], most: int) -> str:
    """What the template writes; TemplateFailed when it is wrong, or writes more than `most` characters.

    Args:
        source: of the template.
        report: as `report`, as plain data.
        parts: name -> Markdown.
        most: characters.
    """
    filters = {"code": lambda text: code_span(str(text), _QUOTED), "fenced": _fenced}
    return render_bounded(source, {"report": msgspec.to_builtins(report), **parts}, most, filters)


def render_bounded(
    source: str, variables: Mapping[str, Any], most: int, filters: Mapping[str, Callable[..., str]] | None = None
) -> str:
    """What a template writes that is somebody's own wording; TemplateFailed when it is wrong, or writes too much.

    Args:
        source: of the template.
        variables: plain data.
        most: characters.
        filters: beside those of the language.
    """
    if len(source) > TEMPLATE_CHARACTERS:
        raise TemplateFailed(f"it has {len(source)} characters; {TEMPLATE_CHARACTERS} are allowed")
    # The idle controller has no template engine in memory.
    import jinja2

    from highstate.render.jinja import environment
    from highstate.render.template_limits import LIMITS

    fork = environment(()).fork(jinja2.DictLoader({}), dict(environment(()).globals))
    fork.steps = LIMITS.steps - _STEPS
    fork.filters = {**fork.filters, **(filters or {})}
    written, size = [], 0
    try:
        for piece in fork.from_string(source).generate(**variables):
            written.append(piece)
            size += len(piece)
            if size > most:
                raise TemplateFailed(f"it writes more than {most} characters")
    except TemplateFailed:
        raise
    except Exception as error:  # a template is data: whatever it breaks, the text without it is sent
        raise TemplateFailed(f"{type(error).__name__}: {str(error)[:300]}") from error
    return "".join(written)


def _fenced(text: object, language: str = "") -> str:
    return fenced(str(text), language if language.isalnum() else "")
