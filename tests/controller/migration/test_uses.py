"""What is found in the text of a file, without rendering it."""

import pytest

from controller.migration.uses import (
    imported_helpers,
    named_files,
    template_functions,
    uses_of_sls,
    uses_of_template,
    without_comments,
)


def found(text, *kinds):
    return [(use.name, use.line) for use in uses_of_sls(text) if not kinds or use.kind in kinds]


def test_the_forms_of_declarations():
    text = """\
include:
  - docker.install

vim: pkg.installed
nginx:
  pkg.installed: []
  service.running:
  - enable: True
short:
  cmd:
    - run
    - name: id
listed:
  file.managed
extend:
  nginx:
    service.dead: []
exclude:
  - id: x.y
"""
    assert found(text, "state") == [
        ("pkg.installed", 4), ("pkg.installed", 6), ("service.running", 7), ("cmd.run", 11), ("file.managed", 14),
        ("service.dead", 17),
    ]  # fmt: skip
    assert found(text, "argument") == [("service.running enable", 8), ("cmd.run name", 12)]


def test_templates_are_looked_through():
    text = """\
{# salt['cmd.run']('rm') #}
{%- for name in salt['pillar.get']('users') %}
{{ name }}:
  user.present:
    - home: {{ salt.file.dirname(name) }}
{%- endfor %}
{{ x }}.{{ y }}:
  {{ state }}:
    - a: 1
"""
    assert found(text, "state") == [("user.present", 4)]
    assert found(text, "template function") == [("pillar.get", 2), ("file.dirname", 5)]


def test_text_in_a_block_is_no_state():
    text = "/etc/x:\n  file.managed:\n    - contents: |\n        a.b:\n          c.d: e\n"
    assert found(text, "state") == [("file.managed", 2)]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a:\n  module.run:\n    - name: test.ping\n", "test.ping"),
        ("a:\n  module.run:\n    - service.restart:\n      - name: x\n", "service.restart"),
        ("a:\n  schedule.present:\n    - function: state.apply\n", "state.apply"),
        ("cmd.run:\n  salt.function:\n    - tgt: '*'\n", "cmd.run"),
        ("a:\n  local.pkg.install:\n    - tgt: x\n", "pkg.install"),
    ],
)
def test_functions_that_states_and_reactions_call(text, name):
    assert [one for one, _ in found(text, "function")] == [name]


def test_runners_wheels_and_callers():
    text = "a:\n  runner.state.orchestrate:\n    - args: []\nb:\n  salt.runner:\n    - name: cache.grains\n"
    text += "c:\n  wheel.key.accept: []\n"
    assert found(text, "runner") == [("state.orchestrate", 2), ("cache.grains", 6)]
    assert found(text, "wheel") == [("key.accept", 8)]
    assert found("a:\n  caller.cmd.run: []\n", "caller") == [("cmd.run", 2)]


def test_renderers():
    assert found("#!pydsl|yaml -x\na:\n  test.nop: []\n", "renderer") == [("pydsl", 1), ("yaml", 1)]
    assert found("#!py\ndef run():\n  a.b\n  return __salt__['x.y']()\n") == [("py", 1), ("x.y", 4)]
    assert found("#!/bin/sh\n", "renderer") == []


def test_modules_and_files_that_are_named():
    assert imported_helpers("import salt.utils.files\n  from salt.exceptions import X\nimport salt\n") == {
        "salt.utils.files",
        "salt.exceptions",
    }
    assert named_files('{% from "a/map.jinja" import x %}{%- import_yaml tplroot ~ "/d.yaml" as y %}') == {
        "a/map.jinja",
        "d.yaml",
    }
    assert [use.name for use in uses_of_template("x {{ salt['a.b']() }}")] == ["a.b"]


@pytest.mark.parametrize("text", ["{#" * 400_000, "{{" * 400_000, "- a" * 400_000, "a" * 1_000_000, "salt[" * 200_000,
                                  "  a.b:\n" * 100_000, " " * 1_000_000 + "x", "{% from '" * 100_000])  # fmt: skip
def test_hostile_text_is_read_in_linear_time(text):
    """A text of a megabyte: what is quadratic in it would take longer than a test may."""
    list(uses_of_sls(text))
    named_files(text)
    imported_helpers(text)
    list(template_functions(without_comments(text)))
