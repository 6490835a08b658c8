"""Contents: the digest follows the result, not the text; what cannot be rendered is found before it goes live."""

import pytest

from highstate.compile import CompileOptions, compile_minion
from highstate.compile.template_variables import template_variables
from highstate.desired import Desired, desired_of
from highstate.files import MemoryFiles
from highstate.missing_sources import is_missing_source_warning
from highstate.types import ABSENT, Minion
from minion.engine.registry import find

TOP = b"base:\n  '*':\n    - a\n"


def compiled(sls, files=None, pillar="{}", grains=None, env=None, options=None):
    tree = {"top.sls": TOP, "a.sls": sls.encode(), **{path: text.encode() for path, text in (files or {}).items()}}
    pillar_tree = {"top.sls": b"base:\n  '*':\n    - p\n", "p.sls": pillar.encode()}
    trees = {"base": tree} | {name: {p: t.encode() for p, t in more.items()} for name, more in (env or {}).items()}
    return compile_minion(
        MemoryFiles(trees),
        MemoryFiles({"base": pillar_tree}),
        Minion(id="web1", grains=grains or {}),
        options or CompileOptions(),
    )


def content(*args, **kwargs):
    result = compiled(*args, **kwargs)
    assert result.ok, "\n".join(map(str, result.errors))
    (one,) = result.contents.values()
    return one


MANAGED = """
/etc/motd:
  file.managed:
    - source: salt://motd
"""
TEMPLATE = MANAGED + "    - template: jinja\n"


def test_a_source_changes_the_digest():
    one, two = content(MANAGED, {"motd": "one"}), content(MANAGED, {"motd": "two"})
    assert one.digest != two.digest
    assert list(one.files) == [("base", "motd")]
    assert content(MANAGED, {"motd": "one", "other": "x"}) == one


def test_a_template_is_digested_as_rendered():
    files = {"motd": "hello {{ pillar['name'] }} {{ grains['os'] }}"}
    one = content(TEMPLATE, files, "name: ann\nother: 1", {"os": "Debian"})
    assert content(TEMPLATE, files, "name: ann\nother: 2", {"os": "Debian", "x": 1}).digest == one.digest
    assert content(TEMPLATE, files, "name: bob\nother: 1", {"os": "Debian"}).digest != one.digest
    assert content(TEMPLATE, files, "name: ann\nother: 1", {"os": "Arch"}).digest != one.digest


def test_a_template_names_what_it_imports():
    files = {"motd": "{% import 'lib.jinja' as lib %}{{ lib.x }}", "lib.jinja": "{% set x = 1 %}"}
    assert set(content(TEMPLATE, files).files) == {("base", "motd"), ("base", "lib.jinja")}


def test_context_goes_over_defaults():
    sls = TEMPLATE + "    - defaults: {x: 1, y: 1}\n    - context: {x: 2}\n"
    other = TEMPLATE + "    - defaults: {x: 2, y: 1}\n"
    files = {"motd": "{{ x }} {{ y }} {{ name }}"}
    assert content(sls, files).digest == content(other, files).digest


def test_extra_arguments_are_variables_of_the_template():
    files = {"motd": "{{ port }} {{ user }}"}
    one = content(TEMPLATE + "    - port: 80\n    - user: root\n", files)
    unindented = content(TEMPLATE + "    - user: root\n    - context:\n      port: 80\n", files)
    nested = content(TEMPLATE + "    - user: root\n    - context: {port: 80}\n", files)
    assert one.digest == unindented.digest == nested.digest
    assert one.digest != content(TEMPLATE + "    - port: 81\n    - user: root\n", files).digest
    assert not compiled(TEMPLATE + "    - makedirs: true\n", {"motd": "{{ makedirs }}"}).ok


def test_arguments_of_file_states_are_no_variables():
    for fun in ("managed", "recurse"):
        own = find("file", fun, "").spec.all
        assert template_variables({one.name: 1 for one in own if not one.supplied}) == {}


def test_a_broken_template_is_a_problem_of_the_minion():
    result = compiled(TEMPLATE, {"motd": "one\n{{ nosuch }}\nthree\n"})
    (problem,) = result.errors
    assert result.lowstate == ()
    assert (problem.pos.file, problem.pos.template_line or problem.pos.line) == ("motd", 2)
    assert "nosuch" in problem.message
    assert "> 2" in problem.excerpt
    assert problem.pos.include_chain == ("a",)


def test_a_function_of_the_live_machine_makes_it_volatile():
    files = {"motd": "{{ salt['cmd.run']('uptime') }}{{ pillar.get('x') }}"}
    one = content(TEMPLATE, files, "x: 1")
    assert one.volatile == ("cmd.run",)
    assert one.files
    assert content(TEMPLATE, files, "x: 2").digest != one.digest
    assert content(TEMPLATE, {"motd": files["motd"] + " "}, "x: 1").digest != one.digest


def test_a_missing_source_is_a_problem():
    (problem,) = compiled(MANAGED, {"motd.txt": "x"}).errors
    assert "salt://motd (saltenv base) is not in the tree" in problem.message
    assert "motd.txt" in problem.hint
    assert problem.pos.file == "a.sls"
    assert problem.pos.line == 2


@pytest.mark.parametrize(
    "state",
    [
        "file.managed:\n    - source: salt://gone",
        "file.managed:\n    - source: [salt://gone, salt://away]\n    - template: jinja",
        "file.recurse:\n    - source: salt://gone",
        "cmd.script:\n    - source: salt://gone",
    ],
)
def test_by_policy_a_missing_source_fails_its_state_alone(state):
    sls = f"/etc/motd:\n  {state}\n/etc/other:\n  file.managed:\n    - source: salt://motd\n"
    [error] = compiled(sls, {"motd": "x"}).errors
    assert error.hint == "bring it, or have its state alone fail: missing_source in saltern.yaml"
    result = compiled(sls, {"motd": "x"}, options=CompileOptions(missing_source="fail_state"))
    assert result.errors == ()
    assert [chunk.id for chunk in result.lowstate] == ["/etc/motd", "/etc/other"]
    [warning] = result.warnings
    assert "salt://gone (saltenv base)" in warning.message
    assert is_missing_source_warning(warning)
    assert warning.hint == ""
    assert (warning.pos.file, warning.pos.line) == ("a.sls", 1)
    assert result.contents[result.lowstate[0].tag].files["base", "gone"] == ABSENT


def test_that_policy_is_for_missing_sources_alone():
    options = CompileOptions(missing_source="fail_state")
    assert not compiled(TEMPLATE, {"motd": "{{ nosuch }}"}, options=options).ok
    assert not compiled("a:\n  file.managed:\n    - contents_pillar: gone\n", options=options).ok


@pytest.mark.parametrize("sources", ["[salt://none, salt://motd]", "[salt://none, /local/file]", "/local/file"])
def test_one_of_several_sources_is_enough(sources):
    assert compiled(MANAGED.replace("salt://motd", sources), {"motd": "x"}).ok


def test_a_source_of_another_environment():
    sls = MANAGED.replace("salt://motd", "salt://motd?saltenv=qa")
    assert list(content(sls, env={"qa": {"motd": "x"}}).files) == [("qa", "motd")]
    (problem,) = compiled(MANAGED, env={"qa": {"motd": "x"}}).errors
    assert "saltenv qa" in problem.hint


def test_contents_pillar():
    sls = "/etc/key:\n  file.managed:\n    - contents_pillar: keys:one\n"
    one = content(sls, pillar="keys: {one: abc, two: d}")
    assert content(sls, pillar="keys: {one: abc, two: e}").digest == one.digest
    assert content(sls, pillar="keys: {one: abd, two: d}").digest != one.digest
    (problem,) = compiled(sls).errors
    assert "'keys:one'" in problem.message


RECURSE = "/srv/www:\n  file.recurse:\n    - source: salt://www\n"


def test_recurse_takes_all_files_below():
    files = {"www/a": "1", "www/b/c": "2", "wwwx": "3"}
    one = content(RECURSE, files)
    assert set(one.files) == {("base", "www/a"), ("base", "www/b/c")}
    moved = {"www/a": "1", "www/b/d": "2", "wwwx": "3"}
    assert content(RECURSE, moved).digest != one.digest
    assert not compiled(RECURSE, {"www2/a": "1"}).ok


def test_recurse_with_templates_and_patterns():
    files = {"www/a": "{% if name != '/srv/www/a' %}{{ wrong }}{% endif %}{{ pillar.x }}", "www/b.bin": "{{ nosuch"}
    sls = RECURSE + "    - template: jinja\n    - exclude_pat: '*.bin'\n"
    assert content(sls, files, "x: 1").digest != content(sls, files, "x: 2").digest
    assert not compiled(sls.replace("exclude", "include"), files).ok


def test_script_and_other_states_that_name_a_file():
    script = "run it:\n  cmd.script:\n    - name: salt://run.sh\n"
    assert list(content(script, {"run.sh": "x"}).files) == [("base", "run.sh")]
    package = "mine:\n  pkg.installed:\n    - sources:\n      - mine: salt://mine.deb\n"
    assert list(content(package, {"mine.deb": "x"}).files) == [("base", "mine.deb")]


def test_chunks_without_content_have_none():
    assert compiled("x:\n  test.nop: []\n").contents == {}


class Executable(MemoryFiles):
    """A tree whose files may all be run."""

    def mode(self, path, saltenv="base"):
        return None if self.oid(path, saltenv) is None else 0o755


@pytest.mark.parametrize("kept", [MANAGED, "/etc/x:\n  file.recurse:\n    - source: salt://motd.d\n"])
def test_a_mode_that_is_kept_is_part_of_the_content(kept):
    option = "file_mode" if "recurse" in kept else "mode"
    found = {}
    for text in (kept, kept + f"    - {option}: keep\n"):
        for kind in (MemoryFiles, Executable):
            tree = {"top.sls": TOP, "a.sls": text.encode(), "motd": b"m", "motd.d/one": b"1"}
            result = compile_minion(kind({"base": tree}), kind({"base": {}}), Minion(id="web1"), CompileOptions())
            assert result.ok, result.errors
            (one,) = result.contents.values()
            found["keep" in text, kind] = (one.digest, set(one.modes.values()), desired_of(result).as_document())
    assert found[False, MemoryFiles] == found[False, Executable]
    assert "modes" not in found[False, MemoryFiles][2]
    assert found[True, MemoryFiles][0] != found[True, Executable][0]
    assert (found[True, MemoryFiles][1], found[True, Executable][1]) == ({0o644}, {0o755})
    document = found[True, Executable][2]
    assert Desired.from_document(document).as_document() == document


def test_what_is_accumulated_is_known_in_the_run_alone():
    files = {"motd": "{% for line in accumulator['x'] %}{{ line }}{% endfor %}{{ pillar.get('a') }}"}
    one = content(TEMPLATE, files, "a: 1")
    assert list(one.files) == [("base", "motd")]
    assert content(TEMPLATE, files, "a: 2").digest != one.digest


def test_a_file_of_a_template_folder_may_be_no_text():
    sls = "/x:\n  file.recurse:\n    - source: salt://t\n    - template: jinja\n"
    trees = {"base": {"top.sls": TOP, "a.sls": sls.encode(), "t/a": b"{{ 1 }}", "t/sig": b"\xac\xff"}}
    result = compile_minion(MemoryFiles(trees), MemoryFiles({}), Minion(id="web1", grains={}), CompileOptions())
    assert result.ok, "\n".join(map(str, result.errors))


def test_merged_sources_all_count():
    sls = "/x:\n  file.recurse:\n    - source: [salt://a, salt://b]\n    - merge: true\n"
    one, two = (content(sls, {"a/f": "A", "b/g": text}) for text in ("one", "two"))
    assert set(one.files) == {("base", "a/f"), ("base", "b/g")}
    assert one.digest != two.digest


def test_symlinks_that_are_kept_are_part_of_the_content():
    sls = "/etc/x:\n  file.recurse:\n    - source: salt://d\n    - keep_symlinks: {}\n"

    def found(kept, target):
        tree = {"top.sls": TOP, "a.sls": sls.format(kept).encode(), "d/one": b"1", "d/two": b"1"}
        files = MemoryFiles({"base": tree}, {"base": {"d/two": target}})
        result = compile_minion(files, MemoryFiles({"base": {}}), Minion(id="web1"), CompileOptions())
        assert result.ok, result.errors
        (one,) = result.contents.values()
        return one, desired_of(result).as_document()

    one, document = found("true", "one")
    assert one.links == {("base", "d/two"): "one"}
    assert document["links"] == {"base": {"d/two": "one"}}
    assert Desired.from_document(document).as_document() == document
    assert set(document["files"]["base"]) == {"d/one", "d/two"}
    assert found("true", "./one")[0].digest != one.digest
    assert found("false", "one")[0].digest == found("false", "./one")[0].digest != one.digest
    assert "links" not in found("false", "one")[1]
