"""Rendering: pipelines, places of errors and lines, bounds, and what the sandbox refuses."""

import pickle

import pytest

from highstate.files import MemoryFiles
from highstate.render.context import RenderContext, RenderFailed
from highstate.render.pipeline import render_sls, render_template
from highstate.types import Minion, Stage

PILLAR = {"sites": ["a", "b"], "nginx": {"port": 80}}


def context(tree: dict[str, str | bytes], **more: object) -> RenderContext:
    blobs = {path: text if isinstance(text, bytes) else text.encode() for path, text in tree.items()}
    values = {"minion": Minion(id="m1", grains={"os_family": "Debian"}), "pillar": PILLAR, **more}
    return RenderContext(files=MemoryFiles({"base": blobs}), **values)


def failure(tree: dict[str, str | bytes] | str, path: str = "t.sls", **more: object) -> RenderFailed:
    work = context({"t.sls": tree} if isinstance(tree, str | bytes) else tree, **more)
    with pytest.raises(RenderFailed) as caught:
        render_sls(path, work, sls=path.removesuffix(".sls"))
    return caught.value


def data(text: str, **more: object) -> object:
    return render_sls("t.sls", context({"t.sls": text}, **more), sls="t").data


# ---- lines


def test_every_key_knows_its_lines():
    text = """{% set x = 1 %}
{% for site in pillar.sites %}
site-{{ site }}:
  file.managed:
    - name: /{{ site }}
    {%- if x %}
    - mode: 1
    {%- endif %}
{% endfor %}
{% macro both(name) %}
{{ name }}-one:
  test.nop: []
{{ name }}-two:
  test.nop: []
{% endmacro %}
{{ both('m') }}
last:
  test.nop: []
"""
    done = render_sls("t.sls", context({"t.sls": text}), sls="t")
    rendered = done.text.splitlines()
    lines = {key: done.lines.find(key) for key in done.data}
    assert all(rendered[line - 1] == f"{key}:" for key, line in lines.items())
    template = {key: done.lines.template_line(line) for key, line in lines.items()}
    assert template == {"site-a": 3, "site-b": 3, "m-one": 16, "m-two": 16, "last": 17}
    mode = done.lines.find("site-b", "file.managed", 1, "mode")
    assert rendered[mode - 1] == "    - mode: 1"
    assert done.lines.template_line(mode) == 7
    assert done.lines.find("nope") == 0
    assert done.lines.template_line(999) == 0


def test_lines_without_jinja_are_the_files_own():
    done = render_sls("t.sls", context({"t.sls": "#!yaml\na: '{{ x }}'\nb: 2"}), sls="t")
    assert done.data == {"a": "{{ x }}", "b": 2}
    assert (done.lines.find("b"), done.lines.template_line(3)) == (3, 3)


def test_a_jinja2_header_moves_no_line():
    text = '#jinja2: {"trim_blocks": true}\n{% if true %}\na: 1\n{% endif %}\nb: {{ nope }}\n'
    assert failure(text).problem.pos.template_line == 5


# ---- errors


def test_an_undefined_name_is_shown_with_what_is_near():
    problem = failure("a: 1\nb: {{ nginxx }}\n{% set nginx = 1 %}c: 1\n").problem
    assert (problem.pos.file, problem.pos.template_line, problem.pos.stage) == ("t.sls", 2, Stage.RENDER)
    assert problem.message == "'nginxx' is undefined"
    assert problem.excerpt == "  1 | a: 1\n> 2 | b: {{ nginxx }}\n    |       ^\n  3 | {% set nginx = 1 %}c: 1"


def test_a_missing_pillar_key_names_its_place_and_the_near_ones():
    problem = failure("{{ pillar.nginx.prt }}").problem
    assert problem.message == "pillar['nginx'] has no key 'prt'"
    assert problem.hint == "did you mean 'port'?"


def test_an_error_in_an_import_shows_the_import_and_the_way():
    tree = {
        "t.sls": "{% from 'a/map.jinja' import x with context %}\n",
        "a/map.jinja": "\n\n{% set x = pillar.nope %}{{ x }}",
    }
    problem = failure(tree).problem
    assert (problem.pos.file, problem.pos.template_line) == ("a/map.jinja", 3)
    assert "on the way from t.sls:1" in problem.message
    assert "> 3 | {% set x = pillar.nope %}" in problem.excerpt


def test_a_syntax_error_in_an_import():
    problem = failure({"t.sls": "\n{% import 'm' as m %}", "m": "\n{% if %}"}).problem
    assert (problem.pos.file, problem.pos.template_line) == ("m", 2)
    assert problem.message.startswith("Jinja syntax error")
    assert "t.sls:2" in problem.message


def test_a_missing_import():
    problem = failure("\n{% from 'no/map.jinja' import x %}").problem
    assert problem.message == "there is no file salt://no/map.jinja in saltenv base"
    assert problem.pos.template_line == 2


@pytest.mark.parametrize("name", ["../../x", "/etc/passwd", "../x"])
def test_imports_stay_in_the_tree(name):
    assert "there is no file" in failure("{% import '" + name + "' as x %}").problem.message


def test_a_live_function_is_named_with_what_to_do():
    failed = failure("a: 1\n{{ salt['cmd.run']('ls') }}")
    assert failed.live == "cmd.run"
    assert failed.problem.pos.template_line == 2
    assert "asks the live machine" in failed.problem.message
    assert "compiled on the controller" in failed.problem.hint


@pytest.mark.parametrize("text", ["{{ salt.cmd.run('ls') }}", "{{ 'cmd.run' in salt }}", "{{ salt['mine.get']('*') }}"])
def test_every_way_to_ask_for_a_live_function_is_told(text):
    assert failure(text).live in ("cmd.run", "mine.get")


def test_a_module_of_the_tree_is_live():
    assert failure({"t.sls": "{{ salt['mymod.f']() }}", "_modules/mymod.py": ""}).live == "mymod.f"


def test_an_unknown_function_is_not_live():
    failed = failure("{{ salt['pilar.get']('x') }}")
    assert failed.live == ""
    assert failed.problem.hint.startswith("did you mean 'pillar.get'")


def test_functions_of_the_caller_are_called_with_plain_data():
    seen = []
    work = context({"t.sls": "a: {{ salt['my.f'](pillar.nginx) }}"}, functions={"my.f": lambda v: seen.append(v) or 1})
    assert render_sls("t.sls", work, sls="t").data == {"a": 1}
    assert seen == [{"port": 80}]
    assert type(seen[0]) is dict


def test_yaml_errors_show_the_rendered_text_and_the_templates_line():
    problem = failure("{% for i in [1, 2, 3] %}\nk{{ i }}: 1\n{% endfor %}\na: b: c\n").problem
    assert (problem.pos.stage, problem.pos.line, problem.pos.template_line) == (Stage.YAML, 8, 4)
    assert "> 8 | a: b: c" in problem.excerpt
    assert problem.excerpt.splitlines()[-1].endswith("    ^")
    assert "quote" in problem.hint


def test_duplicate_keys_name_both_lines():
    problem = failure("a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n").problem
    assert "line 3" in problem.message
    assert problem.pos.line == 5


def test_tabs_get_a_hint():
    assert "tab" in failure("a:\n\tb: 1\n").problem.hint


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"a: \xff", "not UTF-8"),
        ("a: \x01", "control characters are not allowed|special characters"),
        ("a: !!python/name:os.system", "could not determine a constructor"),
        ("a: &a [*a]", "inside its own anchor"),
        ("#!jinja|json\n{", "Expecting property name"),
        ("#!jinja|yml\n", "renderer 'yml' is not known"),
        ("#!yaml|jinja\n", "jinja works on text, but yaml before it"),
    ],
)
def test_bad_files(text, says):
    import re

    assert re.search(says, failure(text).problem.message)


def test_a_missing_file():
    assert failure({}, "nope.sls").problem.message == "there is no file salt://nope.sls in saltenv base"


def test_failures_travel_between_processes():
    failed = failure("{{ salt['cmd.run']('x') }}")
    copied = pickle.loads(pickle.dumps(failed))
    assert (copied.problem, copied.live) == (failed.problem, failed.live)


# ---- pipelines


def test_bom_and_crlf_are_fine():
    assert data("\ufeffa: 1\r\nb: {{ 2 }}\r\n") == {"a": 1, "b": 2}


def test_jinja_alone_gives_text():
    assert data("#!jinja\nx {{ 1 + 1 }}\n") == "#!jinja\nx 2\n"


def test_an_empty_sls_is_an_empty_mapping():
    assert data("") == {}
    assert data("#!json\n") == {}


def test_sls_and_file_templates_have_their_own_options():
    opts = {"jinja_sls_env": {"trim_blocks": True}, "jinja_env": {"lstrip_blocks": True}, "nonsense": 1}
    text = "{% if 1 %}\na: 1\n  {% endif %}\n"
    work = context({"t.sls": text}, opts=opts)
    assert render_sls("t.sls", work, sls="t").text == "a: 1\n  \n"
    assert render_template("t.sls", work).text == "\na: 1\n\n"


def test_extra_variables():
    work = context({"t.sls": "a: {{ v }}"})
    assert render_sls("t.sls", work, sls="t", extra={"v": 1}).data == {"a": 1}
    assert render_sls("t.sls", work, sls="t", extra={"v": 2}).data == {"a": 2}


def test_a_file_template_names_all_files_it_stands_on():
    work = context({"f": "{% import_text 'a' as a %}{{ a }}{{ tpldir }}", "a": "{% include 'b' %}", "b": "B\n"})
    done = render_template("f", work, extra={"x": 1})
    assert done.text == "B."
    assert sorted(done.files) == [("base", "a"), ("base", "b"), ("base", "f")]
    assert done.files["base", "b"] == work.files.oid("b")
    assert done.volatile == ()


# ---- bounds and the sandbox


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "without end"),
        ("{% include 't.sls' %}", "without end"),
        (
            "{% for i in range(100000) %}{% for j in range(100000) %}" + "x" * 999 + "{% endfor %}{% endfor %}",
            "writes more than",
        ),
        ("{{ 'x' * 10000000000 }}", "makes too much"),
        ("{{ [1] * 10000000000 }}", "makes too much"),
        ("{{ 10 ** 10000000 }}", "too large"),
        ("{% set n = namespace(x='xx') %}{% for i in range(99) %}{% set n.x = n.x ~ n.x %}{% endfor %}", "with ~"),
        ("{% set n = namespace(x='xx') %}{% for i in range(99) %}{% set n.x = n.x + n.x %}{% endfor %}", "adding"),
        ("{% set n = namespace(x=[1]) %}{% for i in range(99) %}{% set n.x = n.x + n.x %}{% endfor %}", "adding"),
        ("{{ range(10000000) | list }}", "Range too big"),
        ("{{ ''.__class__ }}", "refused by the sandbox|unsafe"),
        ("{{ salt.__init__.__globals__ }}", "no function|has no attribute|unsafe"),
        ("{{ salt['pillar.get'].__closure__ }}", "unsafe"),
        ("{{ pillar.__class__.__mro__ }}", "unsafe"),
        ("{{ pillar._TrackedMapping__recorder }}", "unsafe"),
        ("{{ 'x' | method_call('__class__') }}", "refused by the sandbox"),
        ("{{ '{0.__class__}'.format(1) }}", "unsafe|refused"),
        ("{{ [] | random }}", "nothing to choose from"),
        ("{{ [1, 2] | shuffle }}", "random.shuffle.* asks the live machine"),
        ("{{ [1, 2] | random_shuffle }}", "seed"),
        ("{{ none | strftime }}", "asks the live machine"),
        ("{{ '' | strftime }}", "is no date"),
        ("{{ 'x' | http_query }}", "http.query.* asks the live machine"),
        ("{{ '/etc' | list_files }}", "asks the live machine"),
        ("{{ lipsum() }}", "undefined"),
    ],
)
def test_what_a_template_may_not_do(text, says):
    import re

    assert re.search(says, str(failure(text).problem)), failure(text).problem


def test_aliases_that_unfold_without_bound_are_refused():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert "aliases unfold" in failure("\n".join(lines)).problem.message


def test_deep_nesting_is_an_error():
    failure("#!yaml\n" + "[" * 5000)


def test_one_compile_cannot_change_what_another_sees():
    files = {
        "t.sls": "{% do pillar.nginx.update({'port': 1}) %}{% do pillar.sites.append('c') %}a: 1",
        "u.sls": "a: {{ pillar }}",
    }
    render_sls("t.sls", context(files), sls="t")
    assert render_sls("u.sls", context(files), sls="u").data == {"a": PILLAR}
    assert PILLAR["sites"] == ["a", "b"]


def test_globals_of_one_render_do_not_reach_the_next():
    tree = {"t.sls": "{% import 'm' as m %}a: {{ m.x }}", "m": "{% set x = pillar.v ~ tpldir ~ sls %}"}
    for value in (1, 2):
        done = render_sls("t.sls", context(tree, pillar={"v": value}), sls="t")
        assert done.data == {"a": f"{value}.t"}


def test_random_chooses_the_same_for_a_minion_each_time():
    text = "{% set n = range(1, 100000) | random %}{{ n }}"
    ids = [f"m{number}" for number in range(20)]
    first, again = ([data(text, minion=Minion(id=id_)) for id_ in ids] for _ in range(2))
    assert first == again
    assert len(set(first)) > 10
