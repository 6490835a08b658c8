"""Lines of a template that Jinja does not make are changed as they were changed on the machine."""

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.adoption.literal_lines import with_literal_lines
from controller.adoption.scalar_edit import CannotEdit

TEMPLATE = """# head
listen {{ port }}
{% for name in names %}
server {{ name }}
{% endfor %}
log warn
keep 10
"""


def rendered(template):
    environment = jinja2.Environment(trim_blocks=True, keep_trailing_newline=True)
    return environment.from_string(template).render(port=80, names=["a", "b"])


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("log warn", "log debug", 6),
        ("keep 10\n", "keep 10\nextra 1\n", 8),
        ("log warn\n", "", 6),
        ("# head\n", "# first\n# head\n", 1),
        ("server b\n", "server b\nserver c\n", 6),
        ("log warn\nkeep 10\n", "log warn\nkeep 20\nlast\n", 7),
    ],
)
def test_lines_outside_of_jinja_are_changed(old, new, line):
    found = rendered(TEMPLATE).replace(old, new)
    template, changed = with_literal_lines(TEMPLATE, rendered(TEMPLATE), found)
    assert changed == line
    assert rendered(template) == found
    assert template.count("{%") == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("listen 80", "listen 81"),
        ("server a\n", ""),
        ("server a\n", "server a\nserver c\n"),
        ("keep 10", "keep {{ x }}"),
    ],
)
def test_what_jinja_makes_is_refused(old, new):
    with pytest.raises(CannotEdit):
        with_literal_lines(TEMPLATE, rendered(TEMPLATE), rendered(TEMPLATE).replace(old, new))


def test_lines_within_an_expression_over_several_lines_are_none_of_the_text():
    template = "a\n{{ [\n'b',\n'c'] | join('-') }}\nd\n"
    with pytest.raises(CannotEdit):
        with_literal_lines(template, "a\nb-c\nd\n", "a\nx\nd\n")
    assert with_literal_lines(template, "a\nb-c\nd\n", "a\nb-c\ne\n")[0].endswith("}}\ne\n")


@given(
    lines=st.lists(
        st.sampled_from(["one", "two", "three", "x {{ port }}", "{% if port %}", "{% endif %}"]), max_size=8
    ),
    found=st.lists(st.sampled_from(["one", "two", "three", "four", "x 80"]), max_size=8),
)
def test_what_is_made_gives_the_text_of_the_machine_but_for_what_verification_looks_at(lines, found):
    template = "".join(f"{line}\n" for line in lines)
    try:
        before = rendered(template)
    except jinja2.TemplateError:
        return
    try:
        new, _ = with_literal_lines(template, before, "".join(f"{line}\n" for line in found))
    except CannotEdit:
        return
    for made in (line for line in template.splitlines() if "{" in line):
        assert made in new.splitlines(), "what has Jinja is kept"
