"""What a preview shows of the machine: contents that the live document determines, and no others."""

from __future__ import annotations

import json

import pytest

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk
from minion.engine.engine import StateEngine
from minion.machine.failure import ContentUnknown
from minion.worker.live_contents import live_contents
from minion.worker.preview_sandbox import PreviewMachine

SECRET = "canary"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHJvb3Q"


@pytest.fixture
def private(tmp_path):
    path = tmp_path / "private"
    path.write_text(f"[section]\nkey = {SECRET}\n")
    path.chmod(0o600)
    return path


@pytest.fixture
def previewed(desired_state):
    """previewed("file.managed", name, live=[chunks], ...): what a preview says of the state."""

    def call(fun, name, live=(), files=None, **arguments):
        document = desired_state(*live, files={"base": dict.fromkeys(files or {}, "oid")})
        tree = {path: text.encode() for path, text in (files or {}).items()}
        machine = PreviewMachine(sources_port=MemoryFiles({"base": tree}), contents=live_contents(document))
        state, _, bare = fun.partition(".")
        one = Chunk(state=state, fun=bare, id="x", name=str(name), sls="s", arguments=arguments)
        return run({"k": one}, StateEngine(machine, test=True), test=True, clock=lambda: 0.0)["k"]

    return call


def shown(result):
    return json.dumps([result.comment, result.changes, result.warnings], default=str)


STATES = {
    "file.managed": {"contents": "x"},
    "file.serialize": {"dataset": {"a": 1}},
    "file.line": {"mode": "insert", "content": "x", "location": "end"},
    "file.replace": {"pattern": "key = c.*", "repl": "x"},
    "file.append": {"text": "x"},
    "file.prepend": {"text": "x"},
    "file.blockreplace": {"content": "x", "append_if_not_found": True},
    "file.comment": {"regex": "^key"},
    "file.uncomment": {"regex": "key"},
    "file.keyvalue": {"key": "key", "value": "x", "separator": " = "},
    "ini.options_present": {"sections": {"section": {"key": "x"}}},
    "ini.options_absent": {"sections": {"section": ["key"]}},
    "ini.sections_absent": {"sections": ["section"]},
}


@pytest.mark.parametrize("fun", STATES)
def test_no_state_shows_a_file_that_no_live_state_determines(fun, previewed, private):
    result = previewed(fun, private, **STATES[fun])
    assert SECRET not in shown(result)
    assert result.result is None
    assert f"content of {private} is not read in a preview" in shown(result)


@pytest.mark.parametrize("fun", ["file.managed", "file.serialize"])
def test_that_a_file_is_not_read_is_said_where_its_changes_are_not_shown(fun, previewed, private):
    result = previewed(fun, private, **STATES[fun], show_changes=False)
    assert f"content of {private} is not read in a preview" in shown(result)


@pytest.mark.parametrize("pattern", ["key = c", "key = d"])
def test_nobody_learns_whether_a_pattern_fits(pattern, previewed, private):
    found = previewed("file.replace", private, pattern=pattern, repl="x", live=[("file", "replace", str(private), {})])
    assert found.comment == (
        f"What it would do is not known: content of {private} is not read in a preview: no live state determines it"
    )
    assert (found.result, found.changes) == (None, {})


def test_the_right_guess_of_a_content_shows_like_a_wrong_one(previewed, private):
    right, wrong = (previewed("file.managed", private, contents=text) for text in (private.read_text(), "other"))
    assert shown(right) == shown(wrong)


def test_what_is_no_content_is_shown(previewed, private, tmp_path):
    assert previewed("file.managed", private, contents="x", mode="0644").changes["mode"] == "0644"
    assert previewed("file.managed", private, mode="0644").changes == {"mode": "0644"}
    assert previewed("file.managed", tmp_path / "new", contents="x").changes == {"diff": "New file"}


@pytest.mark.parametrize("source", ["{}", "file://{}"])
def test_a_file_of_the_machine_is_no_source(source, previewed, private, tmp_path):
    arguments = {"source": source.format(private), "new_file_diff": True}
    assert SECRET not in shown(previewed("file.managed", tmp_path / "new", **arguments))
    live = [("file", "managed", str(tmp_path / "known"), {"contents": "x"})]
    (tmp_path / "known").write_text("x\n")
    assert SECRET not in shown(previewed("file.managed", tmp_path / "known", live=live, **arguments))
    assert previewed("file.copy", tmp_path / "known", source=str(private), force=True).result is None


@pytest.mark.parametrize(
    ("state", "name", "arguments"),
    [
        ("cron.present", "true", {"user": "root"}),
        ("cron.file", "salt://tab", {"user": "root"}),
        ("ssh_auth.present", KEY, {"config": "{private}", "user": "root"}),
        ("sysctl.present", "kernel.ostype", {"value": "x", "config": "{private}"}),
        ("user.present", "root", {"password": "$6$a$b"}),
    ],
)
def test_databases_of_root_are_not_read(state, name, arguments, previewed, private):
    given = {key: one.format(private=private) for key, one in arguments.items()}
    result = previewed(state, name, files={"tab": "x\n"}, **given)
    assert result.result is not True
    assert not result.changes
    assert SECRET not in shown(result)


def test_names_in_folders_are_shown_of_those_that_a_live_state_cleans(previewed, tmp_path):
    (tmp_path / "sessions").mkdir()
    (tmp_path / "sessions" / SECRET).touch()
    name = str(tmp_path / "sessions")
    assert SECRET not in shown(previewed("file.directory", name, clean=True))
    assert SECRET in shown(
        previewed("file.directory", name, clean=True, live=[("file", "directory", name, {"clean": True})])
    )


@pytest.mark.parametrize("engine", ["py", "mako"])
def test_a_template_that_is_a_program_is_not_rendered(engine, previewed, tmp_path):
    program = f"open({str(tmp_path / 'ran')!r}, 'w')\ndef run():\n    return 'x'\n"
    text = program if engine == "py" else f"<% open({str(tmp_path / 'ran')!r}, 'w') %>"
    for given in ({"source": "salt://t"}, {"contents": text}):
        result = previewed("file.managed", tmp_path / "made", files={"t": text}, template=engine, **given)
        assert f"does not render {engine} templates" in result.comment
    previewed("file.managed", tmp_path / "made", files={"t": "#!py\n" + program}, template="jinja", source="salt://t")
    assert not (tmp_path / "ran").exists()


def test_a_file_that_a_live_state_determines_is_shown(previewed, tmp_path):
    path, text = tmp_path / "known", f"{SECRET}\n"
    path.write_text(text)
    for fun, given in (
        ("managed", {"contents": SECRET}),
        ("managed", {"source": "salt://x"}),
        ("serialize", {"dataset": 1}),
    ):
        result = previewed("file.managed", path, contents="x", live=[("file", fun, str(path), given)])
        assert f"-{SECRET}" in result.changes["diff"]
    live = [("file", "recurse", str(tmp_path), {"source": "salt://folder"})]
    assert f"-{SECRET}" in shown(previewed("file.managed", path, contents="x", live=live, files={"folder/known": "a"}))


@pytest.mark.parametrize(
    ("fun", "arguments"),
    [
        ("managed", {"mode": "0600"}),
        ("managed", {"contents": "x", "replace": False}),
        ("managed", {"contents": "x", "show_changes": False}),
        ("managed", {"contents": "x", "onlyif": "false"}),
        ("replace", {"pattern": "x", "repl": "y"}),
        ("serialize", {"dataset": 1, "merge_if_exists": True}),
        ("exists", {}),
    ],
)
def test_a_live_state_that_shows_no_content_lets_none_be_shown(fun, arguments, previewed, private):
    live = [("file", fun, str(private), arguments)]
    assert SECRET not in shown(previewed("file.managed", private, contents="x", live=live))


def test_a_symlink_leads_to_what_the_live_state_follows_alone(desired_state, private, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(private)
    for follows in (True, False):
        live = desired_state(("file", "managed", str(link), {"contents": "x", "follow_symlinks": follows}))
        assert live_contents(live).shows(str(link)) is follows
        assert live_contents(live).shows(str(private)) is follows
    machine = PreviewMachine(sources_port=MemoryFiles({}))
    with pytest.raises(ContentUnknown):
        machine.same(str(private), "/etc/hosts")
    assert machine.read("/etc/hosts")


def test_a_name_of_a_parameter_is_no_option_of_sysctl(previewed, private):
    result = previewed("sysctl.present", f"-p{private}", value="1")
    assert result.result is False
    assert "is no name of a parameter" in result.comment
