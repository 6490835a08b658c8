"""The command line as processes, against an API that answers."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from controller.cli import step_output
from controller.cli.verbs.events import _show
from controller.schema.events import EventView

ROOT = Path(__file__).parents[3]
RUN = [sys.executable, "-c", "from controller.cli import main; main()"]


def test_help_lists_verbs_and_loads_nothing_else(saltern_process):
    done = saltern_process("--help")
    assert done.code == 0
    for verb in ("status", "preview", "key", "call"):
        assert verb in done.out
    probe = (
        "import sys; from controller.cli.main import run; run(['--help']); print(sorted(sys.modules), file=sys.stderr)"
    )
    shown = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stderr
    for heavy in (
        "httpx",
        "rich",
        "yaml",
        "msgspec",
        "asyncio",
        "sqlalchemy",
        "litestar",
        "zmq",
        "controller.config.settings",
    ):
        assert f"'{heavy}'" not in shown, heavy


def test_every_verb_has_help(saltern):
    from controller.cli.main import VERBS

    for verb in VERBS:
        done = saltern(verb, "--help")
        assert done.code == 0, done
        assert "Usage: saltern " + verb in done.out


def test_help_is_cut_nowhere(saltern, monkeypatch):
    from controller.cli.main import VERBS

    monkeypatch.setenv("COLUMNS", "80")
    for verb in VERBS:
        lines = saltern(verb, "--help").out.splitlines()
        assert [line for line in lines if line.endswith(("...", "…")) and "Usage:" not in line] == [], verb
    assert "file NAME.pub of `saltern key gen`." in saltern("key", "--help").out


def test_pages_that_messages_name_are_printed(saltern, tmp_path):
    listed = saltern("docs")
    assert "access " in listed.out
    for name in ("access", "access.md", "docs/access.md", "docs/access.md#passwords"):
        assert saltern("docs", name).out == (ROOT / "docs/access.md").read_text(), name
    assert "did you mean" in saltern("docs", "acess").err
    refused = saltern("controller", "--check", "-c", str(tmp_path))
    assert "`saltern docs configuration` names the options" in refused.err


def test_each_page_that_a_message_names_is_there():
    """In a string, not only where comments and docstrings name it."""
    named = set()
    for room in ("controller", "minion", "options", "saltern", "wire", "reactors", "extmods", "highstate", "gitfs"):
        for path in (ROOT / room).rglob("*.py"):
            named |= set(re.findall(r"docs/([a-z-]+)\.md", path.read_text()))
    assert len(named) > 20
    assert [name for name in sorted(named) if not (ROOT / f"docs/{name}.md").is_file()] == []


@pytest.mark.parametrize(
    ("typed", "hint"),
    [("--sumary", "Did you mean '--summary'?"), ("--bach-wait", "'--batch-wait'"), ("--foo", ""), ("--xyzzy", "")],
)
def test_a_mistyped_option_is_told_those_that_are_like_it_and_no_others(saltern, typed, hint):
    done = saltern("run", typed, "*", "test.ping")
    assert done.code == 64
    assert hint in done.err
    assert hint or "mean" not in done.err


def test_a_mistyped_verb_is_understood(saltern):
    done = saltern("stauts")
    assert done.code == 64
    assert "did you mean status" in done.err
    assert saltern("status", "--nope").code == 64


def test_no_controller_says_how_to_start_one(saltern, config_dir):
    done = saltern("status")
    assert done.code == 3
    assert done.out == ""
    assert f"saltern controller -c {config_dir}" in done.err


def test_a_socket_without_a_listener_is_told_apart(saltern, tmp_path):
    folder = tmp_path / "root/run/saltern"
    folder.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(folder / "controller.sock"))
    done = saltern("status")
    assert done.code == 3
    assert "nobody listens" in done.err


def test_a_configuration_with_faults_is_shown_with_lines(saltern, config_dir):
    with (config_dir / "controller").open("a") as file:
        file.write("intrface: 1.2.3.4\n")
    done = saltern("status")
    assert done.code == 64
    assert f"{config_dir}/controller:3: there is no option 'intrface'; did you mean interface?" in done.err
    assert saltern("controller", "--check").code == 64


def test_git_options_are_checked_before_anything_starts(saltern, config_dir):
    with (config_dir / "controller").open("a") as file:
        file.write("gitfs_remotes:\n  - ext::sh -c whoami\n")
    done = saltern("controller", "--check")
    assert done.code == 64
    assert f"{config_dir}/controller:4: gitfs_remotes[0]: " in done.err


def test_status_is_a_table_that_awk_can_read(saltern, served):
    done = saltern("status")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].split()[:3] == ["MINION", "SYNC", "HEALTH"]
    assert lines[1].split()[:3] == ["db1", "OutOfSync", "Degraded"]
    assert "\x1b" not in done.out
    assert "remote states: connection refused" in done.err


def test_status_as_documents(saltern, served):
    view = json.loads(saltern("status", "--out", "json").out)
    assert [minion["minion"] for minion in view["minions"]] == ["db1", "web1", "web2"]
    assert yaml.safe_load(saltern("status", "web*", "--out", "yaml").out)["minions"][0]["minion"] == "web1"


def test_exit_codes_are_those_of_the_process(saltern_process, served):
    assert saltern_process("sync", "zz*").code == 5
    assert saltern_process("sync", "--test").code == 2
    assert json.loads(saltern_process("status", "--out", "json").out)["minions"]


def test_no_minion_matches(saltern, served):
    for arguments in (("status", "zz*"), ("run", "zz*", "test.ping"), ("sync", "zz*"), ("pause", "zz*")):
        done = saltern(*arguments)
        assert done.code == 5, done
        assert "no minion matches" in done.err


def test_run_passes_arguments_as_salt_does(saltern, served):
    words = ["1", "true", "a: b", "[1, 2]", "{x: 1}", "k=v", "n=3", "--", "-l"]
    done = saltern("run", "--out", "json", "web1", "test.arg", *words)
    assert done.code == 0, done
    told = json.loads(done.out)["web1"]
    assert told["args"] == [1, True, "a: b", [1, 2], {"x": 1}, "-l"]
    assert told["kwargs"] == {"k": "v", "n": 3}


def test_run_tells_who_did_not_answer(saltern, served):
    done = saltern("run", "-L", "web1,web2", "test.ping")
    assert done.code == 1
    assert "web1:\n    fun:\n        test.ping" in done.out
    assert "web2:\n    not connected" in done.out
    assert saltern("run", "-L", "web1,web2", "--hide-timeout", "test.ping").code == 0
    txt = saltern("run", "-E", "web.*", "test.ping")
    assert txt.code == 64
    assert "pcre targets are not understood" in txt.err


def test_a_stream_that_breaks_fails_the_verb(saltern, served, desk):
    desk.broken_stream = True
    done = saltern("run", "web1", "test.ping")
    assert done.code == 1
    assert "it broke in the middle" in done.err


def test_values_of_minions_do_not_steer_the_terminal(saltern, served):
    done = saltern("run", "web1", "test.arg", "a\x1b]0;title\x07b")
    assert "\x1b" not in done.out
    assert "\\x1b]0;title\\x07" in done.out
    assert "\x1b" not in saltern("status").out


def test_a_folder_before_or_after_the_verb_counts(saltern, served, config_dir, tmp_path):
    nowhere = str(tmp_path / "nowhere")
    assert saltern("key", "-c", nowhere, "list").code == 64
    assert saltern("key", "list", "-c", nowhere).code == 64
    assert saltern("key", "-c", nowhere, "list", "-c", str(config_dir)).code == 0
    assert json.loads(saltern("key", "--out", "json", "list").out)
    assert saltern("key", "-L", "list").code == 64


def test_diff_history_and_show(saltern, served):
    done = saltern("diff", "web1")
    assert "web1: abc -> def" in done.out
    assert "~ file.managed motd" in done.out
    assert "drifted" in done.out
    assert done.code == saltern("diff", "web1", "--exit-code").code == 2
    assert saltern("diff", "db1").code == saltern("diff", "db1", "--exit-code").code == 0
    assert json.loads(saltern("diff", "web1", "--out", "json").out)[0]["changes"][0]["fields"][0]["new"] == 2
    history = saltern("history", "web1", "-n", "2").out.splitlines()
    assert len(history) == 3
    assert "run-0" in history[1]
    shown = saltern("show", "run-1")
    assert "file.managed motd (/etc/motd)" in shown.out
    assert "quiet" in shown.out
    assert "quiet" not in saltern("show", "run-1", "--changes").out
    missing = saltern("show", "run-9/../x")
    assert missing.code == 1
    assert "there is no run" in missing.err


def test_two_kinds_of_target_are_refused_by_name(saltern, served, desk):
    for words in (["run", "-G", "-E", "os:Debian", "test.ping"], ["status", "-E", "-G", "web.*"]):
        ended = saltern(*words)
        assert ended.code == 64
        assert "-E and -G cannot go together" in ended.err
    assert saltern("run", "-L", "-L", "web1", "test.ping").code == 0


def test_a_kind_of_target_needs_a_target(saltern, served):
    ended = saltern("status", "-G")
    assert (ended.code, ended.out) == (64, "")
    assert "a kind of target (grain) needs a TARGET" in ended.err


def test_a_diff_as_markdown(saltern, served):
    shown = saltern("diff", "web1", "--out", "markdown").out.splitlines()
    assert shown[0] == "### `web1`: `abc` → `def`"
    assert shown[shown.index("```diff") + 1] == "~ file.managed motd"
    assert "    would be updated" in shown[shown.index("Drifted:") :]
    assert saltern("diff", "db1", "--out", "markdown").out == "Nothing is pending, nothing drifted.\n"


WARNING = "web.sls:3: the last one alone counts"


def test_warnings_of_a_compile_are_shown(saltern, served):
    assert WARNING in saltern("status", "-v").out
    assert WARNING not in saltern("status").out
    assert json.loads(saltern("status", "web1", "--out", "json").out)["minions"][0]["warnings"] == [WARNING]
    assert f"warning: {WARNING}" in saltern("diff", "web1").out
    assert json.loads(saltern("diff", "web1", "--out", "json").out)[0]["warnings"] == [WARNING]
    words = ("preview", "--base", "main", "--head", "warned")
    assert WARNING in saltern(*words).out
    assert json.loads(saltern(*words, "--out", "json").out)["warned"][0]["texts"] == [WARNING]
    assert f"```\n{WARNING}\n```" in saltern(*words, "--out", "markdown").out


def test_what_a_minion_stands_on(saltern, served):
    shown = saltern("show", "web1").out
    assert "minion:    web1" in shown
    assert f"warning: {WARNING}" in shown
    [asked] = [line for line in shown.splitlines() if line.startswith("cmd.which")]
    assert '[["nginx"], {}]' in asked
    assert "1970" in asked
    view = json.loads(saltern("show", "web1", "--out", "json").out)
    assert [(one["name"], one["at"]) for one in view["volatile"]] == [
        ("cmd.which", 1_000.0),
        ("ext_pillar.http_json", 2_000.0),
    ]
    assert saltern("show", "nobody").code == 1


def test_why_shows_the_chain_in_80_columns(saltern, served, monkeypatch):
    monkeypatch.setattr(step_output, "_width", lambda: 80)  # as on a terminal
    shown = saltern("why", "web1")
    assert shown.code == 0
    lines = shown.out.splitlines()
    assert "revision  abc1234: commit abc1234 by A. Writer" in lines[0]
    assert "result    apply: failed" in shown.out
    assert "\x1b" not in shown.out
    assert len(lines) > 4
    assert max(map(len, lines)) <= 80
    steps = json.loads(saltern("why", "web1", "--out", "json").out)["steps"]
    assert [(step["id"], step["cause"]) for step in steps] == [("7", ""), ("9", "7")]
    assert saltern("why", "nobody").code == 5


def test_sync_pause_and_resume(saltern, served, desk):
    done = saltern("sync", "web1", "--whole")
    assert done.code == 0
    assert "web1: changed  whole" in done.out
    assert saltern("sync", "--test").code == 2
    assert set(json.loads(saltern("sync", "--out", "json").out)) == {"db1", "web1", "web2"}
    assert saltern("pause", "web*").out == "paused web1\npaused web2\n"
    assert desk.paused == {"web1", "web2"}
    assert saltern("resume", "web2").out == "resumed web2\n"


@pytest.mark.parametrize(("head", "code"), [("feature", 2), ("same", 0), ("broken", 4)])
def test_preview_exit_codes(saltern, served, head, code):
    done = saltern("preview", "--base", "main", "--head", head, "--exit-code")
    assert done.code == code, done
    assert saltern("preview", "--base", "main", "--head", head).code == (1 if code == 4 else code)


def test_preview_shapes(saltern, served):
    text = saltern("preview", "--base", "main", "--head", "feature", "--target", "web*")
    assert "Change 1 on 2 minions: web1, web2" in text.out
    assert "  * + motd ```" in text.out
    assert "  * web1: pending 1 would change" in text.out
    assert max(map(len, text.out.splitlines())) <= 80
    assert text.err == "", "without a terminal nothing says how far it is"
    view = json.loads(saltern("preview", "--base", "main", "--head", "feature", "--out", "json").out)
    assert view["changed"] == 3
    markdown = saltern("preview", "--base", "main", "--head", "feature", "--out", "markdown").out
    assert "- `+` ```` motd ``` (file.managed) ````" in markdown or "- `+` ```` motd ``` ````" in markdown
    assert "Nothing changes on" in saltern("preview", "--base", "a", "--head", "same", "--out", "markdown").out
    assert saltern("preview", "--base", "a", "--head", "same", "--out", "comment").out.startswith(
        "<!-- saltern-preview:v1"
    )
    unknown = saltern("preview", "--base", "main", "--head", "nope")
    assert unknown.code == 1
    assert "did you mean 'note'?" in unknown.err


def test_a_preview_is_saved_in_the_form_that_the_name_says(saltern, served, tmp_path):
    words = ("preview", "--base", "main", "--head", "feature", "--out", "json")
    names = ("a.json", "a.html", "a.md", "a.txt", "a.yaml")
    done = saltern(*words, *(word for name in names for word in ("--save", str(tmp_path / name))))
    assert done.code == 2
    assert json.loads((tmp_path / "a.json").read_text()) == json.loads(done.out)
    assert json.loads(done.out)["schema_version"] == 1
    assert "schema" not in json.loads(done.out)
    starts = [(tmp_path / name).read_text()[:9] for name in names]
    assert starts == ['{\n  "sche', "<!doctype", "<!-- salt", "Saltern p", "schema_ve"]
    refused = saltern(*words, "--save", str(tmp_path / "a.pdf"))
    assert (refused.code, ".html" in refused.err) == (64, True)
    nowhere = saltern(*words, "--save", str(tmp_path / "no" / "a.json"))
    assert (nowhere.code, "cannot be written" in nowhere.err) == (1, True)


def test_events_end_after_a_count(saltern, served):
    done = saltern("events", "-n", "3", "--out", "json", "*/run")
    assert [json.loads(line)["data"]["n"] for line in done.out.splitlines()] == [1, 3, 5]


def test_events_that_are_kept_are_not_followed(saltern, served):
    done = saltern("events", "-n", "3", "--since", "1h", "--no-follow", "--out", "json", "*/run")
    assert done.code == 0
    assert [json.loads(line)["data"]["n"] for line in done.out.splitlines()] == [1, 3]


@pytest.mark.parametrize("out", ["text", "pretty"])
def test_a_tag_of_a_minion_writes_no_line_of_its_own(out, capsys):
    _show(EventView(tag="x\n12:00:00  salt/job/1/ret/db1\x1b[2J", time=1.0, data={}), out)
    shown = capsys.readouterr().out
    assert "\x1b[2J" not in shown
    assert not [line for line in shown.splitlines() if line.startswith("12:00:00")]
    assert r"x\n12:00:00" in shown


def test_ctrl_c_is_clean(served, config_dir):
    command = [*RUN, "events", "-c", str(config_dir)]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that runs the tests in the background has them ignore it, and so all that they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err.strip() == "interrupted"


def test_a_closed_pipe_is_no_error(served, config_dir):
    with subprocess.Popen(
        [*RUN, "events", "-c", str(config_dir)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(30) == 0


def test_a_controller_that_stops_ends_its_listeners(desk, config_dir, serve_desk):
    from controller.config.settings import load_settings

    with serve_desk(desk, load_settings(config_dir)):
        process = subprocess.Popen(
            [*RUN, "events", "-c", str(config_dir)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stdout.readline()
    _, err = process.communicate(timeout=30)
    assert process.returncode == 3
    assert "stopped answering" in err


def on_terminal(*arguments: str, **env: str) -> str:
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [*RUN, *arguments], stdout=child, stdin=child, stderr=child, env={**os.environ, "TERM": "xterm", **env}
    )
    os.close(child)
    shown = b""
    while True:
        try:
            part = os.read(parent, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(parent)
    assert process.wait(30) == 0
    return shown.decode()


def test_colours_are_for_terminals_that_want_them(served, config_dir):
    assert "\x1b[32m" in on_terminal("status", "-c", str(config_dir))
    assert "\x1b[3" not in on_terminal("status", "-c", str(config_dir), NO_COLOR="1")


def test_how_far_runs_are_is_shown_on_a_terminal_only(saltern, served, config_dir):
    for verb in (["run", "web1", "state.apply"], ["run", "web1", "state.apply", "--out", "json"]):
        shown = on_terminal(*verb, "-c", str(config_dir))
        assert "web1: 3/8 nginx (pkg.installed)  4 s" in shown
        assert shown.index("3/8") < shown.rindex("\r\x1b[K") < shown.rindex("state.apply")
    assert "3/8" not in saltern("run", "web1", "state.apply").out


def test_call_runs_on_this_machine(saltern_process, tmp_path):
    done = saltern_process("call", "--local", "-c", str(tmp_path), "--out", "json", "test.ping")
    assert (done.code, json.loads(done.out)) == (0, {"local": True}), done
    assert saltern_process("call", "--local", "-c", str(tmp_path), "test.pin").code == 1


def test_call_loads_neither_controller_nor_loop():
    probe = "import sys; import controller.cli.verbs.call; print(sorted(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout
    for heavy in (
        "httpx",
        "rich",
        "yaml",
        "asyncio",
        "sqlalchemy",
        "zmq",
        "controller.config.settings",
        "jinja2",
        "psutil",
    ):
        assert f"'{heavy}'" not in shown, heavy


def test_completion(saltern_process):
    done = saltern_process(
        "", env={"_SALTERN_COMPLETE": "bash_complete", "COMP_WORDS": "saltern st", "COMP_CWORD": "1"}
    )
    assert "status" in done.out


def test_compile_needs_no_controller(saltern, tmp_path):
    states, pillar = tmp_path / "states", tmp_path / "pillar"
    states.mkdir()
    pillar.mkdir()
    (states / "top.sls").write_text("base:\n  'web*':\n    - motd\n")
    (states / "motd.sls").write_text("/etc/motd:\n  file.managed:\n    - contents: {{ pillar.text }} {{ grains.os }}\n")
    (pillar / "top.sls").write_text("base:\n  '*':\n    - text\n")
    (pillar / "text.sls").write_text("text: hello\n")
    grains = tmp_path / "grains.yaml"
    grains.write_text("os: Debian\n")
    roots = ["--file-root", str(states), "--pillar-root", f"base={pillar}", "--id", "web1"]
    done = saltern("compile", *roots, "--grains", str(grains), "--out", "json")
    assert done.code == 0, done
    assert json.loads(done.out)[0]["contents"] == "hello Debian"
    assert yaml.safe_load(saltern("compile", *roots, "--grains", str(grains), "--show", "top").out) == {
        "base": ["motd"]
    }
    assert yaml.safe_load(saltern("compile", *roots, "--show", "pillar", "--grains", str(grains)).out) == {
        "text": "hello"
    }
    broken = saltern("compile", *roots)
    assert broken.code == 4
    assert "motd.sls:3" in broken.err
    assert saltern("compile").code == 64
    assert saltern("compile", "--file-root", str(tmp_path / "none")).code == 64


def test_a_controller_that_cannot_start_says_why(saltern_process, served, config_dir):
    config = config_dir / "controller"
    other = config.read_text().replace("http_port", "# http_port") + "publish_port: 1\nret_port: 2\nhttp_port: 0\n"
    config.write_text(other + "store_url: nonsense\n")
    done = saltern_process("controller")
    assert done.code == 1
    assert "the controller cannot run" in done.err
    assert "store_url" in done.err
    assert "Traceback" not in done.err


def test_a_controller_without_a_configuration_says_so(saltern_process, tmp_path):
    nowhere = saltern_process("controller", "--check", "-c", str(tmp_path / "nowhere"))
    assert (nowhere.code, "there is no folder" in nowhere.err) == (64, True)
    empty = tmp_path / "empty"
    empty.mkdir()
    nothing = saltern_process("controller", "--check", "-c", str(empty))
    assert (nothing.code, "there is no configuration in" in nothing.err) == (64, True)


@pytest.mark.parametrize(
    ("verb", "heads", "word"),
    [
        ("history", ["Time", "Minion", "Kind", "Outcome"], "run-0"),
        ("pulls", ["Pull", "request", "Head"], "maintainer:"),
    ],
)
def test_tables_fit_80_columns(served, config_dir, verb, heads, word):
    shown = on_terminal(verb, "-c", str(config_dir), NO_COLOR="1", COLUMNS="80").replace("\x1b[1m", "")
    lines = shown.replace("\x1b[0m", "").replace("\r", "").splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].split()[: len(heads)] == heads
    assert any(word in line for line in lines)


def test_status_of_the_fleet_together(saltern, served):
    done = saltern("status", "--by", "wave")
    assert done.code == 0
    assert done.out.splitlines()[0].split() == [
        "GROUP", "MINIONS", "CONNECTED", "SYNCED", "HEALTHY", "APPLIED", "WORST",
    ]  # fmt: skip
    assert done.out.splitlines()[1].split()[:5] == ["wave", "2", "1", "1", "1"]
    assert "1 x CompileError: db1" in done.out
    assert "\x1b" not in done.out
    view = json.loads(saltern("status", "--by", "fleet", "--out", "json").out)
    assert view["groups"][0]["conditions"][0]["type"] == "Compiled"
    refused = saltern("status", "web*", "--by", "fleet")
    assert (refused.code, "leave TARGET out" in refused.err) == (64, True)
    assert saltern("status", "--by", "nobody").code == 64


def test_a_run_tells_its_plan_why_it_was_and_who_approved_it(saltern, served):
    [run, *_] = json.loads(saltern("history", "--out", "json").out)
    done = saltern("show", run["run_id"])
    assert done.code == 0
    assert "plan:      1 changed" in done.out
    assert "rollout:   7" in done.out
    assert "approved:  alice (" in done.out
    assert "because:" in done.out
    assert "request   a person: saltern sync" in done.out
    assert "\x1b" not in done.out
    view = json.loads(saltern("show", run["run_id"], "--out", "json").out)
    assert [step["step"] for step in view["steps"]] == ["request"]
