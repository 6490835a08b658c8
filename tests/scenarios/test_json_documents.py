"""`--out json` of every verb, as a real controller answers it: documents of ours have a version of their schema."""

import ast
import json
from pathlib import Path

import click
import pytest

from controller.cli.main import VERBS, run, saltern

CLI = Path(__file__).parents[2] / "controller" / "cli"

OURS = {
    "status": "*",
    "top": "",
    "diff": "web1",
    "history": "web1",
    "show": "{run}",
    "why": "web1",
    "blame": "web1 app-config",
    "sync": "web1",
    "pause": "web1",
    "resume": "web1",
    "confirm": "web1",
    "rollout list": "",
    "rollback": "--list",
    "preview": "--base main --head main --no-live",
    "preview list": "",
    "pulls": "",
    "migrate status": "",
    "minions": "",
    "workers": "",
    "reload": "--check",
    "notify list": "",
    "notify spool": "",
    "jobs list": "",
    "jobs active": "",
    "jobs show": "{job}",
    "jobs last": "",
    "jobs kill": "{job}",
    "orchestrations list": "",
    "key token create": "",
    "key token list": "",
    "key token revoke": "{enrolment}",
    "key controller": "",
    "key rotate": "web1",
    "whoami": "",
    "token create": "alice",
    "token list": "",
    "token revoke": "{token}",
    "audit list": "",
    "audit verify": "",
    "remote list": "",
    "remote fetch": "",
    "remote show": "states",
    "remote check": "",
    "remote verify": "",
    "ls": "",
    "cat": "top.sls",
    "events": "--since 1h --count 1",
    "reactor list": "",
    "reactor match": "salt/auth",
    "reactions list": "",
    "schedule list": "",
    "policy explain": "web1",
    "lint": "{tree}",
    "backup create": "{folder}/backup.tar.gz",
}
"""Verbs and what they are asked here."""

LOCAL = {
    "schedule next": "--config {schedule} --count 1",
    "policy check": "{tree}",
    "migrate check": "examples/migrate/etc/salt --root examples/migrate",
}
"""Those that know no controller."""

SALTS = {
    "run": "web1 test.ping",
    "cp": "web1 {tree}/top.sls /nowhere/a",
    "cloud": "--list-providers",
    "runner": "manage.up",
    "wheel": "key.list_all",
    "key": "-L",
    "key list": "",
    "key finger": "web1",
    "key print": "web1",
    "call": "--local test.ping",
    "compile": "--file-root {tree} --pillar-root {tree}/../pillar --grains {grains} --id web1",
}
"""Verbs whose documents have Salt's shape."""

ELSEWHERE = {
    "adopt": "scenarios/test_adopt.py",
    "restore": "minion/ownership",
    "rollout show": "scenarios/test_rollouts.py",
    **dict.fromkeys(
        (f"rollout {verb}" for verb in ("watch", "pause", "resume", "abort", "retry", "approve", "promote", "confirm")),
        "scenarios/test_rollouts.py",
    ),
    "unapply": "controller/cli/test_pulls.py",
    "notify test": "scenarios/test_notifications.py",
    "notify retry": "scenarios/test_notifications.py",
    "orchestrations show": "scenarios/test_orchestrations_shown.py",
    "forge list": "controller/cli/test_forge.py",
    "forge check": "controller/cli/test_forge.py",
    "key gen": "controller/cli/test_keys.py",
    "key accept": "controller/cli/test_keys.py",
    "key reject": "controller/cli/test_keys.py",
    "key delete": "controller/cli/test_keys.py",
    "key add": "controller/cli/test_keys.py",
    "login": "controller/cli/test_access.py",
    "logout": "controller/cli/test_access.py",
    "reactor test": "controller/cli/test_reactor.py",
    "reactor replay": "controller/cli/test_reactor.py",
    "reactions show": "scenarios/test_reactors.py",
    "schedule run": "scenarios/test_schedule_verbs.py",
    "schedule enable": "scenarios/test_schedule_verbs.py",
    "schedule disable": "scenarios/test_schedule_verbs.py",
    "backup restore": "controller/backup/test_backup.py",
    "doctor": "scenarios/test_doctor.py",
    "migrate compare": "controller/migration",
    "migrate shadow": "scenarios/test_gateway_shadow.py",
    "migrate agent": "controller/cli/test_migrate_agents.py",
    "init": "controller/setup/test_init.py",
    "swarm": "scenarios/test_swarm.py",
    "ssh": "scenarios/test_ssh.py",
}
"""Verbs that need what is not here; they print by the same functions, which `test_documents_are_printed_in_one_place`
holds."""

WITHOUT = {
    "completion", "controller", "docs", "gateway", "minion", "minion join", "relay",  # programs, a script for shells
    "audit export",  # JSON lines, always
    "policy schema",  # a JSON schema, always
}  # fmt: skip


def test_every_verb_has_json_and_is_looked_at():
    found = {path: _choices(command) for path, command in _commands()}
    assert {path for path, choices in found.items() if choices is None} == WITHOUT
    assert {
        path for path, choices in found.items() if choices is not None
    } == OURS.keys() | LOCAL.keys() | SALTS.keys() | ELSEWHERE.keys()
    assert [path for path, choices in found.items() if choices is not None and "json" not in choices] == []


def test_documents_have_a_version_and_salts_have_salts_shape(make_rig, tmp_path):
    rig = make_rig(minions={"web1": {"roles": ["web"]}})
    rig.wait_applied(rig.push("first"))
    given = {
        "run": rig.history()[0]["run_id"],
        "job": json.loads(rig.saltern("run", "web1", "test.ping", "--async", "--out", "json").stdout)["jid"],
        "enrolment": json.loads(rig.saltern("key", "token", "create", "--out", "json").stdout)["view"]["id"],
        "token": json.loads(rig.saltern("token", "create", "bob", "--out", "json").stdout)["view"]["id"],
        "folder": tmp_path,
        "grains": tmp_path / "grains.json",
        "tree": rig.work / "states",
    }
    given["grains"].write_text(json.dumps({"id": "web1", "root": str(tmp_path)}))
    wrong = {}
    for path, words in {**OURS, **SALTS}.items():
        done = rig.saltern(*path.split(), *words.format(**given).split(), "--out", "json", check=False)
        try:
            document = json.loads(done.stdout)
        except ValueError:
            wrong[path] = done.returncode, done.stdout, done.stderr
            continue
        if path in SALTS:
            versioned = "schema_version" in done.stdout
        elif path == "sync":
            versioned = not all(_versioned(each) for each in document.values())
        else:
            versioned = not _versioned(document)
        if versioned:
            wrong[path] = done.stdout[:300]
    assert wrong == {}, "\n".join(f"{path}: {what}" for path, what in wrong.items())


def test_documents_of_verbs_that_know_no_controller_have_one_too(tmp_path, capsys):
    given = {"schedule": tmp_path / "schedule.conf", "tree": CLI.parents[1] / "tests" / "scenarios" / "tree" / "states"}
    given["schedule"].write_text("schedule: {ping: {function: test.ping, seconds: 60}}\n")
    for path, words in LOCAL.items():
        run([*path.split(), *words.format(**given).split(), "--out", "json"])
        assert _versioned(json.loads(capsys.readouterr().out)), path


def test_documents_are_printed_in_one_place():
    """`output` has the version; who prints JSON by itself is named here."""
    by_themselves = set()
    for path in CLI.rglob("*.py"):
        tree = ast.parse(path.read_text())
        names = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        if names & {"json.dumps", "json.dump", "msgspec.json.format", "msgspec.json.encode"}:
            by_themselves.add(path.relative_to(CLI).as_posix())
    assert by_themselves == {
        "client.py",  # asks
        "kept_ids.py",  # keeps
        "lint_output.py",  # with `versioned`
        "output.py",
        "verbs/events.py",  # `--out pretty`, as Salt prints it
        "verbs/explain/blame.py",  # a value in a line
        "verbs/local/swarm.py",  # on minions, where `output` lacks a library
        "verbs/setup/doctor.py",  # the same
        "verbs/local/policy.py",  # the JSON schema
        "verbs/runner.py",  # a value in a line
    }


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_a_row_of_a_list_and_a_line_have_it(form, capsys):
    from controller.cli import output

    output.document([{"a": 1}, {"b": 2}], form)
    output.document({"a": 1}, form)
    output.json_line({"a": 1})
    assert capsys.readouterr().out.count("schema_version") == 4


def _versioned(document):
    if isinstance(document, list):
        return all(row["schema_version"] == 1 for row in document)
    return document["schema_version"] == 1 and next(iter(document)) == "schema_version"


def _commands():
    top = click.Context(saltern)
    for verb in VERBS:
        yield from _below(verb, saltern.get_command(top, verb))


def _below(path, command):
    if not isinstance(command, click.Group):
        yield path, command
        return
    if command.invoke_without_command and path in ("key", "preview", "pulls", "minion"):
        yield path, command
    for name, inner in command.commands.items():
        yield from _below(f"{path} {name}", inner)


def _choices(command):
    """The forms of `--out`; None: it has no such option."""
    for option in command.params:
        if "--out" in option.opts:
            return getattr(option.type, "choices", None) or ["json"]
    return None
