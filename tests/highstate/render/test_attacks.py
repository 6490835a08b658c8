"""What a hostile template tries: Python's objects, files beside the tree, the environment, the network, programs.

Each line of REFUSED fails, with its place; each of HARMLESS renders, and shows nothing of what it was after.
"""

import pytest

from controller.offline import answer_case, parse_case
from highstate.compile import CompileOptions, compile_minion
from highstate.files import MemoryFiles
from highstate.types import Minion

SECRET = "s3cr3t-of-the-controller"

REFUSED = r"""
{{ ''.__class__.__mro__[1].__subclasses__() }}
{{ [].__class__.__base__ }}
{{ cycler.__init__.__globals__.os.environ }}
{{ joiner.__init__.__globals__ }}
{{ namespace.__init__.__globals__ }}
{{ self.__init__.__globals__ }}
{{ self._TemplateReference__context }}
{{ salt.__class__ }}
{{ salt['pillar.get'].__globals__ }}
{{ salt['pillar.get'].__closure__ }}
{{ salt.pillar.get.__func__ }}
{{ salt._catalog }}
{{ salt.pillar._catalog }}
{{ salt | attr('_catalog') }}
{{ salt | attr('__class__') }}
{{ (salt | attr('_Functions__x')) }}
{{ pillar._TrackedMapping__recorder }}
{{ pillar | attr('_TrackedMapping__recorder') }}
{{ grains | attr('__class__') }}
{{ '' | attr('__class__') }}
{{ [''] | unique(attribute='__class__') | list }}
{{ [''] | sum(attribute='__class__') }}
{{ [''] | min(attribute='__class__') }}
{{ [''] | selectattr('__class__') | list }}
{{ [''] | rejectattr('__class__.__x__', 'none') | list }}
{{ [''] | join(attribute='__class__') }}
{{ '{0.__class__}'.format('') }}
{{ '{0.__class__.__mro__}' | format('') }}
{{ '%(a)s' | format(a=''.__class__) }}
{{ '{x.__init__.__globals__}'.format_map({'x': salt}) }}
{{ '' | method_call('__class__') }}
{{ 'x' | method_call('format_map', {'x': salt}) }}
{{ '{0.__class__}' | method_call('format', '') }}
{{ [1] | method_call('__reduce__') }}
{{ lipsum.__globals__ }}
{{ url_for }}
{{ get_flashed_messages }}
{{ config }}
{{ opts.__class__ }}
{{ environ }}
{{ caller.__class__ }}
{% macro m() %}{% endmacro %}{{ m.__globals__ }}
{% macro m() %}{% endmacro %}{{ m._environment }}
{% macro m() %}{% endmacro %}{{ m._func.__globals__ }}
{% macro m() %}{% endmacro %}{{ m | attr('_func') }}
{{ range.__self__ }}
{{ dict.__mro__ }}
{{ dict.mro() }}
{{ odict.__init__.__globals__ }}
{{ odict.mro() }}
{{ (odict | attr('mro'))() }}
{{ raise.__globals__ }}
{{ ifelse.__globals__ }}
{{ show_full_context.__globals__ }}
{{ loop }}
{% for x in [1] %}{{ loop._iterator }}{% endfor %}
{% for x in [1] %}{{ loop.__init__.__globals__ }}{% endfor %}
{% import 'lib.jinja' as l %}{{ l.__class__ }}
{% import 'lib.jinja' as l %}{{ l._TemplateModule__x }}
{% import 'lib.jinja' as l %}{{ l._body_stream }}
{% import '../../../etc/passwd' as l %}
{% import '/etc/passwd' as l %}
{% include '/etc/passwd' %}
{% include '../a/../../etc/passwd' %}
{% import_text '/etc/passwd' as l %}{{ l }}
{% import_text '../../../../../etc/passwd' as l %}{{ l }}
{% import_yaml '/etc/hostname' as l %}{{ l }}
{{ salt['cp.get_file_str']('/etc/passwd') }}
{{ salt['cp.get_file_str']('file:///etc/passwd') }}
{{ salt['cp.get_file_str']('http://127.0.0.1/') }}
{{ salt['cp.hash_file']('/etc/passwd') }}
{{ salt['slsutil.renderer']('/etc/passwd') }}
{{ salt['slsutil.renderer']('salt://../../etc/passwd') }}
{{ salt['file.read']('/etc/passwd') }}
{{ salt['cmd.run']('id') }}
{{ salt['file.file_exists']('/etc/passwd') }}
{{ salt['file.normpath'].__globals__ }}
{{ (1).__class__.from_bytes }}
{{ ().__class__.__bases__[0].__subclasses__() }}
{{ ''['__class__'] }}
{{ ''['__cla' ~ 'ss__'] }}
{{ pillar['__class__'] }}
{{ salt['__class__'] }}
{{ salt['pillar.__class__'] }}
{{ salt['pillar'].__class__ }}
{{ salt.__getattr__('pillar') }}
{% set x = namespace() %}{{ x.__dict__ }}
{{ x.__init__ is defined }}{{ namespace().__init__.__globals__['os'] }}
{{ 'a'.encode().__class__ }}
{{ (lambda: 1) }}
{% do pillar.update({'a': 1}) %}{{ pillar._TrackedMapping__data }}
{{ grains.items.__self__ }}
{{ grains.items.__func__.__globals__ }}
{{ sls.join.__self__.__class__ }}
{{ tojson }}
{{ 'x' | tojson.__globals__ }}
{{ [1,2].__iter__().__reduce__() }}
{{ "x".__format__.__self__ }}
{{ (range(3) | map('string')).gi_frame }}
{{ (['a'] | map('upper')).gi_frame.f_globals }}
{{ (['a'] | map('upper') | attr('gi_frame')) }}
{% call(x) lipsum() %}{% endcall %}
{{ cycler('a').__class__ }}
{{ joiner(',').sep.__class__ }}
{{ ''.join.__call__ }}
{{ opts.grains.__class__ }}
{{ proxy.__class__ }}
{{ salt['log.info'].__globals__ }}
{% extends '/etc/passwd' %}
{{ '/etc/passwd' | list_files }}
{{ '/etc' | is_empty }}
{{ '/etc/passwd' | file_hashsum }}
{{ 'http://127.0.0.1' | http_query }}
{{ 'ls' | which }}
"""

HARMLESS = r"""
{{ [''] | map(attribute='__class__') | list }}
{{ [''] | map('attr', '__class__') | list }}
{{ [{'a': ''}] | map(attribute='a.__class__') | list }}
{{ [''] | groupby('__class__') }}
{{ [''] | sort(attribute='__class__') }}
{{ {} | json_query('__class__') }}
{{ {'a': ''} | traverse('a:__class__') }}
{{ salt['cp.get_file_str']('salt://../../etc/passwd') }}x
{{ salt['cp.get_file_str']('salt:///etc/passwd') }}x
{{ salt['environ.get']('SECRET_ENV') }}x
{{ salt['environ.items']() }}
{{ salt['config.get']('SECRET_ENV') }}x
{{ salt['slsutil.file_exists']('/etc/passwd') }}
{{ salt['defaults.get']('../../../etc/passwd') }}
{{ salt.get('__class__') }}
{% set x = namespace() %}{% set x.__class__ = 1 %}
"""


def compiled(line, **opts):
    tree = {
        "top.sls": "base: {'*': [one]}",
        "one.sls": f"x:\n  test.nop:\n    - v: |\n        {line}\n",
        "lib.jinja": "{% set q = 1 %}",
    }
    files = MemoryFiles({"base": {path: text.encode() for path, text in tree.items()}})
    return compile_minion(files, MemoryFiles({}), Minion(id="m", grains={"id": "m"}), CompileOptions(opts=opts))


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    monkeypatch.setenv("SECRET", SECRET)


@pytest.mark.parametrize("line", REFUSED.strip().splitlines())
def test_it_is_refused(line):
    problems = compiled(line).errors
    assert [problem.pos.file for problem in problems] == ["one.sls"]
    assert problems[0].pos.line
    assert "root:x:0" not in str(problems)
    assert SECRET not in str(problems)


@pytest.mark.parametrize("line", HARMLESS.strip().splitlines())
def test_it_shows_nothing(line):
    [chunk] = compiled(line).lowstate
    shown = chunk.arguments["v"]
    assert not [one for one in ("root:x:0", SECRET, "<class", "function", "object at") if one in shown]


TEMPLATE = "{{ 7 * 191 }}{% do grains.x %}{{ salt['cmd.run']('id') }}{# #}"


@pytest.mark.parametrize(
    "line",
    [
        "{{ grains['role'] }}",
        "{{ grains.role | yaml_encode }}",
        "{{ pillar['text'] }}",
        "{{ salt['grains.get']('role') }}{{ salt['pillar.get']('text') }}",
        "{% set x = grains.role %}{{ x }}",
        "{{ '%s' | format(pillar.text) }}",
    ],
)
def test_data_is_never_a_template(line):
    """What a minion says of itself, and what pillar holds, is printed as it is."""
    tree = {
        "top.sls": "base: {'*': [one]}",
        "one.sls": f"x:\n  test.nop:\n    - v: |\n        {line}\n",
    }
    pillar = {"top.sls": "base: {'*': [p]}", "p.sls": "#!yaml\ntext: '" + TEMPLATE.replace("'", "''") + "'"}
    trees = [{path: text.encode() for path, text in files.items()} for files in (tree, pillar)]
    minion = Minion(id="m", grains={"id": "m", "role": TEMPLATE})
    compiled = compile_minion(
        MemoryFiles({"base": trees[0]}), MemoryFiles({"base": trees[1]}), minion, CompileOptions()
    )
    assert not compiled.errors
    shown = compiled.lowstate[0].arguments["v"]
    assert TEMPLATE in shown.replace('\\"', '"')
    assert str(7 * 191) not in shown


PYTHON = [
    "#!py\ndef run():\n    return {}\n",
    "#!mako|yaml\na: ${1}\n",
    "#!stateconf yaml . mako\n.a: {test.nop: []}\n",
    "#!stateconf py . jinja\n.a: {test.nop: []}\n",
    "{{ salt['slsutil.renderer'](string='#!py\\ndef run(): pass') }}",
]


@pytest.mark.parametrize("text", PYTHON)
def test_python_can_be_kept_out(text):
    files = MemoryFiles({"base": {"top.sls": b"base: {'*': [one]}", "one.sls": text.encode()}})
    settings = CompileOptions(opts={"allow_py_renderer": False})
    [problem] = compile_minion(files, MemoryFiles({}), Minion(id="m"), settings).errors
    assert "switched off" in problem.message


@pytest.mark.parametrize(
    "text",
    [
        "{% import_text '../secret' as t %}{{ t }}",
        "{% import_text 'link' as t %}{{ t }}",
        "{% import_text 'folder/secret' as t %}{{ t }}",
        "{{ salt['cp.get_file_str']('salt://../secret') }}",
        "{{ salt['cp.get_file_str']('salt://a/../../secret') }}",
        "{{ salt['cp.get_file_str']('salt://link') }}",
        "{{ salt['cp.get_file_str']('salt://folder/secret') }}",
        "{{ salt['cp.list_master']() }}{{ salt['cp.hash_file']('salt://link') }}",
        "{{ salt['slsutil.renderer']('salt://../secret', 'yaml') }}",
        "{% include '../secret' %}",
        "{% import_text './../secret' as t %}{{ t }}",
    ],
)
def test_a_folder_does_not_lead_out_of_itself(tmp_path, text):
    root = tmp_path / "tree"
    root.mkdir()
    (tmp_path / "secret").write_text(SECRET + "\n")
    (root / "link").symlink_to(tmp_path / "secret")
    (root / "folder").symlink_to(tmp_path)
    (root / "one.sls").write_text("x:\n  test.nop:\n    - v: |\n        " + text + "\n")
    case, _ = parse_case({"file_roots": {"base": [str(root)]}, "sls": ["one"]})
    answer = answer_case(case)
    assert answer.errors or answer.result
    assert SECRET not in repr(answer)
