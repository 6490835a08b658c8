"""Functions of templates beyond what recorded_templates.json holds: errors, files, options and in-place changes."""

import pytest

from highstate.files import MemoryFiles
from highstate.render.context import RenderContext, RenderFailed
from highstate.render.pipeline import render_sls
from highstate.types import Minion

TREE = {
    "a/init.sls": b"",
    "a/defaults.yaml": b"port: 80\ninner: {x: 1}\n",
    "a/b/c.sls": b"",
    "top.sls": b"",
    "data.bin": b"\xff\x00",
    "text.txt": b"hello\n",
}
PILLAR = {"a": {"port": 81}, "merge": {"l": [1], "d": {"x": 1}}, "list": [{"name": "x"}, 5], "80": "text", 80: "number"}
GRAINS = {"os": "Debian", "roles": ["web"], "nested": {"deep": [1, {"k": "v"}]}}


def context(text: str, **more: object) -> RenderContext:
    files = MemoryFiles({"base": {**TREE, "t.sls": text.encode()}, "dev": {"only.txt": b"dev"}})
    values = {"minion": Minion(id="web1", grains=GRAINS), "pillar": PILLAR, **more}
    return RenderContext(files=files, **values)


def value(expression: str, **more: object) -> object:
    return render_sls("t.sls", context("#!jinja|json\n{{ (" + expression + ") | json }}", **more), sls="t").data


def error(expression: str, **more: object) -> str:
    with pytest.raises(RenderFailed) as caught:
        value(expression, **more)
    return caught.value.problem.message


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("salt['pillar.get']('80')", "text"),
        ("salt['pillar.get']('list:name')", "x"),
        ("salt['pillar.get']('list:1')", 5),
        ("salt['pillar.get']('merge', {'l': [2], 'd': {'y': 2}}, merge=True)", {"l": [1], "d": {"y": 2, "x": 1}}),
        (
            "salt['pillar.get']('merge', {'l': [2]}, merge=True, merge_nested_lists=True)",
            {"l": [2, 1], "d": {"x": 1}},
        ),
        ("salt['pillar.get']('nope', {'l': [2]}, merge=True)", {"l": [2]}),
        ("salt['pillar.get']('list', {'l': [2]}, merge=True)", [{"name": "x"}, 5]),
        ("salt['grains.get']('nested:deep:1:k')", "v"),
        ("salt['grains.get']('nested|deep', delimiter='|')", [1, {"k": "v"}]),
        ("salt['grains.ls']()", ["nested", "os", "roles"]),
        ("salt['config.get']('environ', 'none')", "none"),
        ("salt['config.get']('mine', 'none')", "none"),
        ("salt['defaults.get']('a:port')", 81),
        ("salt['defaults.get']('a:inner:x')", 1),
        ("salt['defaults.get']('a:nope', 'd')", "d"),
        ("salt['cp.list_states']()", ["a", "a.b.c", "t", "top"]),
        ("salt['cp.list_master'](prefix='a/')", ["a/b/c.sls", "a/defaults.yaml", "a/init.sls"]),
        ("salt['cp.list_master_dirs']()", ["a", "a/b"]),
        ("salt['cp.get_file_str']('salt://only.txt?saltenv=dev')", "dev"),
        ("salt['cp.get_file_str']('salt://only.txt', saltenv='dev')", "dev"),
        ("salt['cp.get_file_str']('salt://nope')", ""),
        ("salt['cp.hash_file']('salt://text.txt').hash_type", "sha256"),
        ("salt['slsutil.dir_exists']('a/b')", True),
        ("salt['slsutil.dir_exists']('text.txt')", False),
        ("salt['slsutil.path_exists']('text.txt')", True),
        ("salt['slsutil.findup']('a/b', ['defaults.yaml'])", "a/defaults.yaml"),
        ("salt['slsutil.renderer'](string='#!json\\n{\"x\": 1}')", {"x": 1}),
        ("salt['slsutil.renderer'](string='v: {{ v }}', v=3)", {"v": 3}),
        ("salt['slsutil.deserialize']('yaml', 'a: [1]')", {"a": [1]}),
        ("salt['match.compound']('G@os:Debian and I@a:port:81')", True),
        ("salt['match.glob']('db*', minion_id='db1')", True),
        ("salt['match.compound']('N@group')", True),
        ("salt['match.ipcidr']('10.0.0.0/8')", False),
        ("salt['match.ifelse'](False, 1, True, 2, 3)", 2),
        ("salt['match.filter_by']({'x': 1}, default='x')", 1),
        ("salt['match.filter_by']({'web*': {'a': 1}}, merge={'b': 2})", {"a": 1, "b": 2}),
        ("salt['environ.get']('HOME', 'unset')", "unset"),
        ("salt['environ.has_value']('HOME')", False),
        ("salt.get('test.ping')()", True),
        ("salt.get('nope.nope', 5)", 5),
        ("salt.test.echo('x')", "x"),
        ("salt['test.arg'](1, a=2)", {"args": [1], "kwargs": {"a": 2}}),
        ("'grains.get' in salt and 'nope.x' not in salt", True),
    ],
)
def test_values(expression, expected):
    assert value(expression, opts={"nodegroups": {"group": "web*"}}) == expected


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("salt['grains.filter_by']({'Debian': {}}, merge='text')", "merge must be a mapping"),
        ("salt['grains.filter_by']({'b': 1, 'Debian': {}}, nope=1)", "takes no argument 'nope'"),
        ("salt['pillar.keys']('list')", "not a mapping"),
        ("salt['pillar.keys']('nope')", "not found"),
        ("salt['defaults.merge'](none, {})", "in place"),
        ("salt['slsutil.merge'](1, {})", "TypeError|'int'"),
        ("salt['slsutil.serialize']('toml', {})", "knows json and yaml"),
        ("salt['slsutil.deserialize']('xml', '')", "knows json, toml"),
        ("salt['slsutil.deserialize']('json', '{')", "Expecting property name"),
        ("salt['slsutil.renderer']()", "either a path or a string"),
        ("salt['slsutil.renderer']('salt://nope')", "no file salt://nope"),
        ("salt['slsutil.renderer'](string='a: b: c')", "mapping values are not allowed"),
        ("salt['slsutil.findup']('a/b', 'nope')", "none of nope is found"),
        ("salt['hashutil.digest']('x', 'crc')", "knows no checksum 'crc'"),
        ("salt['cp.get_file_str']('/etc/passwd')", "no file of the tree"),
        ("salt['cp.get_file_str']('http://x/y')", "no file of the tree"),
        ("salt['match.filter_by']({'a': 1}, tgt_type='nope')", "no matcher 'nope'"),
        ("salt['match.ifelse'](1, 2)", "a default at the end"),
        ("salt['file.file_exists']('/etc/passwd')", "asks the live machine"),
        ("salt['pillar.get']()", "TypeError"),
    ],
)
def test_errors(expression, says):
    import re

    assert re.search(says, error(expression)), error(expression)


def test_pillar_raise_on_missing():
    assert error("salt['pillar.get']('nope')", opts={"pillar_raise_on_missing": True}) == "pillar key not found: nope"


def test_environment_variables_are_those_that_the_operator_lists():
    assert value("salt['environ.get']('STAGE')", opts={"environ": {"STAGE": "prod"}}) == "prod"


def test_options_merge_as_config_get_asks():
    opts = {"mine": {"a": 1}}
    assert value("salt['config.get']('mine')", opts=opts, pillar={"mine": {"b": 2}}) == {"a": 1}
    assert value("salt['config.get']('mine', merge='recurse')", opts=opts, pillar={"mine": {"b": 2}}) == {
        "a": 1,
        "b": 2,
    }
    assert value("salt['config.get']('mine', omit_opts=True)", opts=opts, pillar={"mine": {"b": 2}}) == {"b": 2}
    assert value("opts.id ~ opts.get('mine').a", opts=opts) == "web11"


def test_merges_in_place_change_the_templates_data_and_nothing_else():
    text = """
{%- set d = {'n': {'a': 1}} %}
{%- do salt['defaults.merge'](d.n, pillar.merge) %}
{%- do salt['slsutil.update'](d, {'z': 1}) %}
{%- set u = {'one': {'k': 1}} %}
{%- do salt['defaults.update'](u, {'k': 0, 'l': pillar.merge.l}) %}
d: {{ d | json }}
u: {{ u | json }}
p: {{ pillar.merge | json }}
"""
    assert render_sls("t.sls", context(text), sls="t").data == {
        "d": {"n": {"a": 1, "l": [1], "d": {"x": 1}}, "z": 1},
        "u": {"one": {"k": 1, "l": [1]}},
        "p": {"l": [1], "d": {"x": 1}},
    }
    assert PILLAR["merge"] == {"l": [1], "d": {"x": 1}}


def test_the_lookup_table_of_filter_by_is_not_changed():
    text = """
{%- set table = {'Debian': {'a': 1}} %}
{%- set one = salt['grains.filter_by'](table, grain='os', merge={'b': 2}) %}
one: {{ one | json }}
table: {{ table | json }}
"""
    assert render_sls("t.sls", context(text), sls="t").data == {"one": {"a": 1, "b": 2}, "table": {"Debian": {"a": 1}}}


def test_functions_of_the_caller_come_first():
    functions = {"grains.get": lambda key: f"live {key}", "cmd.run": lambda command: command.upper()}
    assert value("salt['grains.get']('os') ~ salt.cmd.run('x')", functions=functions) == "live osX"
    assert value("'cmd.run' in salt", functions=functions) is True
