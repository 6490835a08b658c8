"""A template without tags is not run; it gives what running it gives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highstate.files import MemoryFiles
from highstate.memo.tracked import Recorder
from highstate.render import jinja
from highstate.render.context import RenderContext
from highstate.render.source_map import TemplateText
from highstate.types import Minion

PIECES = st.sampled_from(["a", "{", "}", "%", "#", "# c", " ", "\n", "\n\n", "\t", "$", "\u2028", "{ %"])


def run(source: str) -> TemplateText:
    recorder = Recorder(RenderContext(minion=Minion(id="m"), files=MemoryFiles({})).sources)
    fork = jinja.environment(()).fork(jinja.TreeLoader(recorder, "base"), {})
    return jinja.run(jinja.compile_template(fork, source, "t", source), fork, {})


@given(st.lists(PIECES, max_size=8).map("".join))
def test_the_same_text_and_lines(source: str) -> None:
    found = jinja.without_jinja(source, ())
    if found is not None:
        ran = run(source)
        assert (found.text, list(found.lines)) == (ran.text, list(ran.lines))


@pytest.mark.parametrize("source", ["{{ a }}", "{% set a = 1 %}", "{# a #}", "a\r\nb"])
def test_what_is_run(source: str) -> None:
    assert jinja.without_jinja(source, ()) is None
    assert jinja.without_jinja("plain", (("line_statement_prefix", "%"),)) is None
