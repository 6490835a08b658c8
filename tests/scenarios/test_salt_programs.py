"""The programs `salt`, `salt-run`, `salt-key`, `salt-cp` and `salt-call` print what real Salt's print.

tests/golden/salt_programs.json is what real Salt said (tools/oracle/programs.py). JSON is compared as values.
"""

import json
import os
import shlex
from pathlib import Path

import httpx
import prepared
import pytest
from rig import Rig

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "salt_programs.json").read_text())
DIFFERENT = {
    "salt nobody test.ping": "what is no data is on standard error",
    "salt-key -f web1 --out json": "keys differ",
    "salt web1 no.such --out json": "the text says more: names that may be meant",
}


MINIONS = {"web1": {"roles": ["web"]}}
"""One, as the real one."""


@pytest.fixture(scope="module")
def rig(make_shared_rig) -> Rig:
    return make_shared_rig(minions=MINIONS)


@pytest.fixture
def own_rig(make_rig) -> Rig:
    """Of who does something to its keys, or counts its jobs."""
    return make_rig(minions=MINIONS)


def program(rig, name, *words, stdin=""):
    environment = {**os.environ, "SALTERN_CONFIG_DIR": str(rig.config), "NO_COLOR": "1"}
    module = f"saltern.salt_programs.{name.replace('-', '_')}"
    return prepared.run(words, environment, given=stdin, program=module, folder=rig.directory)


def documents(text):
    """The JSON values that stand one after the other."""
    decoder, found, rest = json.JSONDecoder(), [], text.lstrip()
    while rest:
        value, end = decoder.raw_decode(rest)
        found.append(value)
        rest = rest[end:].lstrip()
    return found


def returns(rig, jid):
    return json.loads(program(rig, "salt-run", "jobs.lookup_jid", jid, "--out", "json").stdout)


def events(rig, pattern):
    transport = httpx.HTTPTransport(uds=str(rig.socket))
    with httpx.Client(transport=transport, base_url="http://controller/api/v1", timeout=30) as client:
        query = {"tag": pattern, "since": "600", "follow": "false", "match": "glob"}
        return [
            line for line in map(json.loads, client.get("/events", params=query).text.splitlines()) if "tag" in line
        ]


def test_the_documented_examples_print_what_salts_print(own_rig):
    rig = own_rig
    (rig.directory / "src.txt").write_text("hello\n")
    wrong = []
    for case, told in GOLDEN.items():
        name, *words = shlex.split(case.replace("FOLDER", str(rig.directory)))
        done = program(rig, name, *words)
        said = done.stdout.replace(str(rig.directory), "FOLDER")
        if case in DIFFERENT:
            continue
        same = documents(said) == documents(told["out"]) if "--out json" in case else said == told["out"]
        if not same or done.returncode != told["code"]:
            wrong.append((case, said, done.stderr, done.returncode, told))
    assert wrong == []
    assert (rig.directory / "dst.txt").read_text() == "hello\n"


def test_what_differs_has_its_own_form(rig):
    nobody = program(rig, "salt", "nobody", "test.ping", "--out", "json")
    assert (nobody.returncode, nobody.stdout) == (2, "{}\n")
    assert "No minions matched the target" in nobody.stderr
    assert "ERROR: No return received" in nobody.stderr
    finger = json.loads(program(rig, "salt-key", "-f", "web1", "--out", "json").stdout)
    assert list(finger["minions"]) == ["web1"]
    listed = program(rig, "salt-key", "-L").stdout
    assert listed == "Accepted Keys:\nweb1\nDenied Keys:\nUnaccepted Keys:\nRejected Keys:\n"


def test_more_of_salt(rig):
    begun = program(rig, "salt", "*", "test.sleep", "0.1", "--async").stdout
    assert begun.startswith("Executed command with job ID: 20")
    jid = begun.split()[-1]
    rig.wait("it", lambda: program(rig, "salt-run", "jobs.lookup_jid", jid, "--out", "json").stdout.strip() != "{}")
    assert json.loads(program(rig, "salt-run", "jobs.lookup_jid", jid, "--out", "json").stdout) == {"web1": True}
    batch = program(rig, "salt", "*", "test.ping", "-b", "1", "--async").stdout.split()[-1]
    rig.wait("the batch", lambda: len(returns(rig, batch)) == 1)
    assert next(event["tag"].split("/")[-1] for event in events(rig, f"salt/batch/{batch}/*")) == "new"
    subset = program(rig, "salt", "*", "test.ping", "--subset", "1", "--async").stdout.split()[-1]
    rig.wait("one of them", lambda: len(returns(rig, subset)) == 1)
    assert f"jid: {'20'}" in program(rig, "salt", "*", "test.ping", "--show-jid").stdout
    verbose = program(rig, "salt", "*", "test.ping", "-v", "--out", "json").stdout.splitlines()
    assert verbose[0].startswith("Executing job with jid 20")
    assert verbose[1] == "-" * len(verbose[0])
    written = rig.directory / "out.json"
    assert program(rig, "salt", "*", "test.ping", "--out", "json", "--out-file", str(written)).stdout == ""
    assert json.loads(written.read_text()) == {"web1": True}
    assert "test.ping:" in program(rig, "salt", "*", "-d", "test.ping").stdout
    assert "test.arg:" in program(rig, "salt-run", "-d", "test.arg").stdout
    described = program(rig, "salt", "*", "-d", "test", "--out", "json").stdout
    assert all(isinstance(text, str) for one in documents(described) for text in one.values())
    assert {"test.ping", "test.echo"} <= {name for one in documents(described) for name in one}
    for name, *words in ("salt", "*", "sys.doc", "a", "b"), ("salt-run", "a", "b"):
        several = program(rig, name, "-d", *words)
        assert (several.returncode, several.stdout) == (64, "")
        assert "one method at one time" in several.stderr
    nowhere = program(rig, "salt", "nobody", "-d", "test.ping")
    assert (nowhere.returncode, nowhere.stderr) == (2, "No minions found to gather docs from\n")
    login = ("-a", "pam", "--username", "nobody-here", "--password", "x")
    assert program(rig, "salt", *login, "*", "test.ping").returncode == 1
    assert program(rig, "salt-run", *login, "test.arg").returncode == 1
    assert program(rig, "salt", "-E", "-L", "a", "test.ping").returncode == 64
    no_server = program(rig, "salt", "-R", "%a", "test.ping")
    assert no_server.returncode == 1
    assert "none is configured" in no_server.stderr
    assert program(rig, "salt-run", "no.such").returncode == 1


def test_options_that_all_programs_take(rig):
    for name in ("salt", "salt-run", "salt-key", "salt-cp", "salt-call"):
        assert program(rig, name, "--version").stdout.startswith(f"{name} (Saltern ")
        assert "\nPython: " in program(rig, name, "-V").stdout
        assert program(rig, name, "-h").stdout.startswith("Usage: ")
        login = ("--username", "nobody-here", "--password", "x", "--eauth", "pam")
        if name != "salt-call":
            asked = {"salt-key": ["-L"], "salt-run": ["test.arg"]}.get(name, ["*", "test.ping", "x"])
            assert program(rig, name, *login, *asked).returncode == 1, name
    assert "Did you mean" not in program(rig, "salt", "--config-dump").stderr

    idle = program(rig, "salt", "*", "test.ping", "--start-event", "--saltfile", "x", "--out", "json", "--static")
    assert json.loads(idle.stdout) == {"web1": True}
    assert [line.split()[0] for line in idle.stderr.splitlines()] == ["--start-event", "--saltfile"]
    assert program(rig, "salt", "web1", "test.ping", "--saltfile").returncode == 64

    text = program(rig, "salt", "web1", "test.arg", "a=1", "b=1", "--no-parse", "a", "--out", "json")
    assert json.loads(text.stdout)["web1"]["kwargs"] == {"a": "1", "b": 1}
    read = program(rig, "salt", "web1", "test.arg", "--args-stdin", "--out", "json", stdin="x\ny=2\n")
    assert json.loads(read.stdout) == {"web1": {"args": ["x"], "kwargs": {"y": 2}}}
    assert json.loads(program(rig, "salt", "--config-dump").stdout)["interface"] == "127.0.0.1"

    listed = rig.directory / "keys.json"
    assert program(rig, "salt-key", "-L", "--no-color", "--out", "json", "--out-file", str(listed)).stdout == ""
    assert json.loads(listed.read_text())["minions"] == ["web1"]
    assert program(rig, "salt-run", "manage.up", "--quiet").stdout == ""


def test_targets_as_salt_reads_them(rig):
    assert json.loads(program(rig, "salt", "-G", "roles/web", "test.ping", "--delimiter", "/", "--out", "json").stdout)
    for listed in ("web1, nobody", "web1 nobody"):
        done = program(rig, "salt", "-L", listed, "test.ping", "--out", "json", "--static")
        assert (done.returncode, list(json.loads(done.stdout))) == (1, ["nobody", "web1"])
    of_salt = program(
        rig, "salt", "-L", "web1,nobody", "test.ping", "-b", "1", "--out", "json", "--static", "--summary"
    )
    assert json.loads(of_salt.stdout.partition("\n\n")[0]) == {"web1": True}
    assert "Minion nobody did not respond. No job will be sent." in of_salt.stderr
    assert "# of minions that did not return: 1" in of_salt.stdout
    assert of_salt.returncode == 1
    begun = rig.saltern("run", "-L", "web1,nobody", "test.ping", "--async")
    assert "no accepted key has these ids: nobody" in begun.stderr
    batch = rig.saltern("run", "-L", "web1 nobody", "test.ping", "-b", "1", "--out", "json", check=False)
    assert (batch.returncode, set(json.loads(batch.stdout))) == (1, {"web1", "nobody"})
    assert rig.saltern("run", "-L", "nobody", "test.ping", check=False).returncode == 5


@pytest.mark.parametrize("form", ["nested", "txt", "raw", "pprint", "table"])
def test_what_a_minion_returns_does_not_steer_the_terminal(rig, form):
    hostile = "a\x1b]0;title\x07\x9b31m\u202eb"
    said = program(rig, "salt", "web1", "test.arg", hostile, "--out", form).stdout
    assert "title" in said
    assert all(letter.isprintable() or letter in "\n\t" for letter in said)


def test_salt_key_changes_keys_after_asking(own_rig):
    rig = own_rig
    for words, answer in (("-d", "web1"), "n\n"), (("-d", "web1"), "\n"), (("-D",), "no\n"), (("-D",), ""):
        assert program(rig, "salt-key", *words, stdin=answer).returncode == (0 if answer else 64)
        assert rig.keys("accepted") == ["web1"]
    program(rig, "salt-key", "-r", "web1", "--include-accepted", "-y")
    assert json.loads(program(rig, "salt-key", "-l", "rej", "--out", "json").stdout) == {"minions_rejected": ["web1"]}
    program(rig, "salt-key", "-a", "web1", "--include-rejected", stdin="\n")
    assert rig.keys("accepted") == ["web1"]
    deleted = program(rig, "salt-key", "-d", "web1", stdin="y\n")
    assert deleted.stdout.endswith("Key for minion web1 deleted.\n")


def test_salt_call_is_saltern_call(rig):
    folder = rig.directory / "web1"
    done = program(rig, "salt-call", "-c", str(folder), "test.arg", "a", "b=2", "--out", "json")
    assert json.loads(done.stdout) == {"local": {"args": ["a"], "kwargs": {"b": 2}}}
    failed = program(rig, "salt-call", "-c", str(folder), "cmd.run", "exit 3", "--out", "json", "--retcode-passthrough")
    assert (failed.returncode, json.loads(failed.stdout)) == (3, {"local": ""})


def test_files_are_copied_in_pieces_and_no_larger_than_the_limit(rig):
    source, target = rig.directory / "large", rig.directory / "web1" / "large"
    data = os.urandom(600_000)
    source.write_bytes(data)
    source.chmod(0o640)
    assert rig.saltern("cp", "web1", str(source), str(target), "--out", "json").stdout
    assert target.read_bytes() == data
    assert target.stat().st_mode & 0o777 == 0o640
    assert not list((rig.directory / "web1" / "agent").rglob("received/*"))

    empty = rig.directory / "empty"
    empty.touch()
    rig.saltern("cp", "-L", "web1", str(empty), str(source), f"{target.parent}/")
    assert (target.parent / "empty").read_bytes() == b""

    with source.open("wb") as file:
        file.truncate(64 * 1024 * 1024 + 1)
    refused = rig.saltern("cp", "web1", str(source), str(target), check=False)
    assert (refused.returncode, "has more than 64 MiB" in refused.stderr) == (64, True)
    assert target.read_bytes() == data
    missing = rig.saltern("cp", "web1", str(empty), "/no/such/folder/x", "--out", "json", check=False)
    assert missing.returncode == 1
    assert "in a folder that is there" in json.loads(missing.stdout)["web1"]["/no/such/folder/x"]
    assert rig.saltern("cp", "nobody", str(empty), "/tmp/x", check=False).returncode == 5
    history = rig.ask("/history")
    assert all("chunk=***" in one["args"] for one in history if one["fun"] == "cp.recv_chunked")
