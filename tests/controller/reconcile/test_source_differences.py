"""`saltern diff` shows what changes in the source files of states, within bounds, and takes secrets out of it."""

import pytest

from controller.cli.verbs.diff import markdown
from controller.store import AppliedRecord

SITE = """
conf:
  file.managed: [{name: /tmp/conf, source: ['salt://own.conf', 'salt://conf']}]
tree:
  file.recurse: [{name: /tmp/tree, source: 'salt://tree', exclude_pat: '*.bak'}]
script:
  cmd.script: [{name: 'salt://go.sh?saltenv=base'}]
text:
  file.managed: [{name: /tmp/text, source: 'salt://text', template: jinja}]
"""
FILES = {
    "web.sls": SITE,
    "conf": "one\ntwo\n",
    "tree/a": "a\n",
    "tree/gone": "gone\n",
    "tree/b.bak": "1\n",
    "tree/picture": "\0\n",
    "go.sh": "echo 1\n",
    "text": "id {{ grains.word }}\n",
}


@pytest.fixture
async def controller(make_controller):
    return await applied(make_controller, FILES)


async def applied(make_controller, files, **options):
    """A controller with a minion that has applied this."""
    controller = make_controller(files, **options)
    controller.minion("web1", word="first")
    await controller.go_live()
    [desired] = controller.store.desired.of(["web1"]).values()
    assert desired.digest, desired.errors
    controller.store.applied.put(
        AppliedRecord(minion="web1", digest=desired.digest, generation=1, revision="r1", at=1.0, outcome="ok")
    )
    return controller


async def after(controller, files, gone=()):
    """The difference once this was pushed."""
    for path in gone:
        (controller.repository.folder / path).unlink()
    controller.repository.commit(files)
    await controller.go_live()
    [diff] = await controller.service.diff("web1")
    return diff


async def test_all_kinds_of_sources(controller):
    changes = {"conf": "one\n2\n", "tree/a": "A\n", "tree/new": "new\n", "tree/b.bak": "2\n"}
    changes |= {"tree/picture": "\0\0\n", "go.sh": "echo 2\n"}
    diff = await after(controller, changes, gone=["tree/gone"])
    assert diff.text.splitlines() == [
        "~ conf [/tmp/conf] (file.managed)  content changes",
        "    --- salt://conf",
        "    +++ salt://conf",
        "    @@ -1,2 +1,2 @@",
        "     one",
        "    -two",
        "    +2",
        "~ tree [/tmp/tree] (file.recurse)  content changes",
        "    --- salt://tree/a",
        "    +++ salt://tree/a",
        "    @@ -1 +1 @@",
        "    -a",
        "    +A",
        "    --- salt://tree/gone",
        "    +++ /dev/null",
        "    @@ -1 +0,0 @@",
        "    -gone",
        "    Binary file salt://tree/picture differs (2 -> 3 bytes)",
        "    --- /dev/null",
        "    +++ salt://tree/new",
        "    @@ -0,0 +1 @@",
        "    +new",
        "~ script [salt://go.sh?saltenv=base] (cmd.script)  content changes",
        "    --- salt://go.sh",
        "    +++ salt://go.sh",
        "    @@ -1 +1 @@",
        "    -echo 1",
        "    +echo 2",
    ]
    assert diff.changes[2].content == ("--- salt://go.sh\n+++ salt://go.sh\n@@ -1 +1 @@\n-echo 1\n+echo 2",)
    assert "```diff\n~ conf [/tmp/conf] (file.managed)  content changes\n    --- salt://conf\n" in markdown([diff])


async def test_another_source_is_compared_with_the_one_before(controller):
    diff = await after(controller, {"own.conf": "one\nown\n"})
    assert diff.text.splitlines()[1:3] == ["    --- salt://conf", "    +++ salt://own.conf"]
    other = SITE.replace("'salt://conf'", "'salt://conf.new'").replace("'salt://own.conf', ", "")
    diff = await after(controller, {"web.sls": other, "conf.new": "one\nnew\n"}, gone=["own.conf"])
    lines = diff.text.splitlines()
    assert lines[1] == '    source: ["salt://own.conf", "salt://conf"] -> ["salt://conf.new"]'
    assert lines[2:4] == ["    --- salt://conf", "    +++ salt://conf.new"]


async def test_an_old_content_is_found_when_no_snapshot_in_use_shows_it(controller):
    for number in range(6):  # more than are remembered for minions
        diff = await after(controller, {"conf": f"{number}\n"})
    assert "    -one" in diff.text.splitlines()
    assert "    +5" in diff.text.splitlines()


async def test_what_templates_are_given_is_shown_by_key_path(make_controller, tmp_path):
    pillar = tmp_path / "pillar"
    pillar.mkdir()
    (pillar / "top.sls").write_text("base: {'*': [app]}\n")
    (pillar / "app.sls").write_text("app: {port: 80, name: x}\n")
    files = FILES | {"text": "port {{ pillar.app.port }}\n"}
    controller = await applied(make_controller, files, pillar_roots=f"{{base: [{pillar}]}}")
    (pillar / "app.sls").write_text("app: {port: 81, name: x}\n")
    diff = await after(controller, {})
    assert diff.text == "~ text [/tmp/text] (file.managed)  content changes"
    assert diff.pillar == "pillar:app:port: 80 -> 81"
    assert "```\npillar:app:port: 80 -> 81\n```" in markdown([diff])


async def test_a_secret_in_a_source_is_taken_out(controller):
    controller.parts.resources.store.secrets.put({"web1": frozenset({"correct horse battery"})})
    diff = await after(controller, {"conf": "one\npassword correct horse battery\n"})
    assert "correct horse" not in diff.text + str(diff.changes) + markdown([diff])
    assert "    +password <secret " in diff.text


async def test_how_much_is_shown_is_bounded(controller):
    many = {f"tree/{number:03}": f"{number}\n" for number in range(40)}
    large = {"conf": "x" * 70_000, "go.sh": "".join(f"line {number}\n" for number in range(1000))}
    text = (await after(controller, many | large)).text
    assert "    salt://conf differs (8 -> 70000 bytes; too large to be compared here)" in text.splitlines()
    assert text.count("+++ salt://tree/") == 20
    assert "    (20 more files differ)" in text.splitlines()
    assert "    (604 more lines)" in text.splitlines()


async def test_content_that_nobody_has_any_more_is_said(controller):
    controller.service.state.read_blob = lambda oid, length: None
    diff = await after(controller, {"conf": "other\n"})
    assert "    salt://conf differs (its old content is not at hand any more)" in diff.text.splitlines()


async def test_so_many_files_are_compared_for_one_answer(controller, monkeypatch):
    monkeypatch.setattr("controller.reconcile.source_differences._MOST_DIFFERENCES", 1)
    diff = await after(controller, {"conf": "1\n", "go.sh": "2\n"})
    assert "    salt://go.sh differs (not compared: too many files differ)" in diff.text.splitlines()
