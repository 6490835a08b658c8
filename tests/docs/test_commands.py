"""Every `saltern …` in the documents can be typed, and every option that there is is documented."""

from __future__ import annotations

import re
import shlex

import click
import pytest

from controller.cli import failure
from controller.cli.main import VERBS, saltern


@pytest.fixture(autouse=True)
def files_that_examples_name(tmp_path, monkeypatch):
    """Files that are opened while a command line is parsed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cases.jsonl").touch()


def test_commands_in_blocks_parse(pages):
    wrong, seen = [], 0
    for page in pages.values():
        for block in page.blocks("console", "sh", "bash"):
            for line in block.text.splitlines():
                if not line.startswith("$ saltern"):
                    continue
                seen += 1
                if why := refused(words_of(line.removeprefix("$ saltern"))):
                    wrong.append(f"{block.place}: {line}: {why}")
    assert seen > 40
    assert not wrong


def test_commands_in_text_parse(pages):
    """In running text arguments may be left out: `saltern run`."""
    wrong = []
    for page in pages.values():
        for line in re.findall(r"`saltern( [^`]*)`", page.prose):
            if len(line.split()) > 1 and set(line.split()) <= set(VERBS):
                continue  # a list of verbs
            if line != " …" and (why := refused(words_of(line), lenient=True)):
                wrong.append(f"{page.name}: saltern{line}: {why}")
    assert not wrong


def test_this_test_would_notice():
    assert refused(["status", "--nope"])
    assert refused(["stauts"])
    assert refused(["key", "accept"])
    assert refused(["run"])
    assert not refused(["run", "*"], lenient=True)
    assert refused(["status", "--nope"], lenient=True)
    assert refused(["key", "acept", "web1"])
    assert refused(["unapply"])


@pytest.mark.parametrize("verb", VERBS)
def test_options_of_each_verb_are_documented(pages, rows, coded, verb):
    page = pages["docs/commands.md"]
    tables = [row for row in rows(page.section(verb)) if row[0].startswith("`-")]
    documented = {name for row in tables for name in coded(row[0])}
    commands = list(all_commands(saltern.get_command(click.Context(saltern), verb)))
    options = {name for command in commands for option in own_options(command) for name in spellings(option)}
    aliases = {"--output"}  # said once for all verbs
    targeting = set(coded(page.section("Targets")))
    takes_target = any(option.name == "kind_grain" for command in commands for option in own_options(command))
    assert not options - documented - aliases - (targeting if takes_target else set())
    assert not documented - options


def test_verbs_and_subcommands_are_documented(pages, rows, coded):
    page = pages["docs/commands.md"]
    table = [link for row in rows(page.prose) if (link := re.match(r"\[`(\w+)`\]\(#(\w+)\)", row[0]))]
    assert [link[1] for link in table] == list(VERBS)
    for verb in VERBS:
        command = saltern.get_command(click.Context(saltern), verb)
        if isinstance(command, click.Group):
            named = [coded(row[0])[0] for row in rows(page.section(verb)) if re.fullmatch(r"`\w+`", row[0])]
            assert sorted(named) == sorted(command.commands)


def test_targeting_flags_are_documented(pages, coded):
    flags = {
        name
        for option in own_options(saltern.get_command(click.Context(saltern), "run"))
        if option.name == "kind"
        for name in spellings(option)
    }
    assert flags <= set(coded(pages["docs/commands.md"].section("Targets")))


def test_exit_codes_are_documented(pages, rows):
    documented = {int(row[0]) for row in rows(pages["docs/commands.md"].section("Exit codes"))}
    codes = {value for name, value in vars(failure).items() if name.isupper() and isinstance(value, int)}
    assert documented == codes


def words_of(line: str) -> list[str]:
    """The words of a command, up to a pipe or a redirection."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>()")
    lexer.whitespace_split = True
    words = []
    for word in lexer:
        if word[0] in "|&;<>":
            break
        words.append(word)
    return words


def refused(words: list[str], *, lenient: bool = False) -> str:
    """Why click does not take a command line; nothing is run."""
    command, name, context = saltern, "saltern", None
    try:
        while True:
            context = command.make_context(name, list(words), parent=context)
            if not isinstance(command, click.Group):
                return ""
            words = [*context._protected_args, *context.args]
            if not words:
                return ""
            name, command, words = command.resolve_command(context, words)
            if command is None:
                return f"no command {name}"
    except click.exceptions.Exit:
        return ""  # --help
    except (click.MissingParameter, click.exceptions.NoArgsIsHelpError, click.BadOptionUsage) as error:
        return "" if lenient else error.format_message()
    except click.UsageError as error:
        return error.format_message()
    finally:
        while context is not None:
            context.close()
            context = context.parent


def all_commands(command: click.Command) -> list[click.Command]:
    inner = command.commands.values() if isinstance(command, click.Group) else ()
    return [command, *(one for each in inner for one in all_commands(each))]


def own_options(command: click.Command) -> list[click.Option]:
    return [option for option in command.params if isinstance(option, click.Option) and not option.hidden]


def spellings(option: click.Option) -> list[str]:
    return [*option.opts, *option.secondary_opts]


def test_keys_of_a_case_are_documented(pages, coded):
    from controller.offline.cases import Case, RecordedAnswer

    section = pages["docs/commands.md"].section("compile")
    assert {*Case.__struct_fields__, *RecordedAnswer.__struct_fields__} <= set(coded(section))


def test_checks_of_the_doctor_are_documented(pages, rows, coded, root):
    import ast

    named = set()
    for path in ("minion/doctor/judgements.py", "controller/doctor/judgements.py", "gateway/doctor.py"):
        for node in ast.walk(ast.parse((root / path).read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("well", "warn", "fail"):
                named.add(node.args[0].value)
    table = [
        row
        for row in rows(pages["docs/commands.md"].section("doctor"))
        if set(row[1].split(", ")) <= {"all", "controller", "minion", "gateway"}
    ]
    assert {name for row in table for name in coded(row[0])} == named
