"""The shapes of salt-api over TLS, as programs made for it ask: pepper itself, the requests of SaltGUI, the example."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import httpx
import pytest
from api_ports import AUTHORITY, trusting, write_certificate
from pam_services import PASSWORD, pam_service
from rig import Rig, free_ports

MINIONS = {"web1": {"roles": ["web"]}, "web2": {"roles": ["web"]}, "db1": {"roles": ["db"]}}
ALL = set(MINIONS)
EXAMPLE = Path(__file__).parents[2] / "examples" / "salt-api" / "run-and-wait.sh"
PEPPER = Path(sys.executable).parent / "pepper"


@pytest.fixture(scope="module")
def port():
    """A controller with three minions whose API is on a port: its address, and a folder with `ca.crt`."""
    [number] = free_ports(1)
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    certificate, key = write_certificate(folder)
    AUTHORITY.cert_pem.write_to_path(str(folder / "ca.crt"))
    with pam_service(folder) as service:
        options = {
            "api": {"port": number, "tls": {"certificate": str(certificate), "key": str(key)}},
            "external_auth": {"pam": {"daemon": [".*", "@runner", "@wheel"], "nobody": ["test.ping"]}},
            "api_roles": {"viewer": ["daemon"]},
            "auth.pam.service": service,
            "limits": {"access": {"logins_per_minute": 1000}},
        }
        with Rig(folder / "r", MINIONS, Path(__file__).parent / "tree", options, forked=True) as rig:
            rig.up()
            rig.push("A first push")
            rig.wait_applied(rig.head())
            yield f"https://127.0.0.1:{number}/salt/", folder
            assert rig.long_turns() == []
    shutil.rmtree(folder, ignore_errors=True)


def environment(folder):
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "SALTAPI_USER": "daemon",
        "SALTAPI_PASS": PASSWORD,
        "SALTAPI_EAUTH": "pam",
        "REQUESTS_CA_BUNDLE": str(folder / "ca.crt"),
    }


@pytest.mark.skipif(not PEPPER.exists(), reason="salt-pepper is not installed")
def test_pepper(port):
    address, folder = port

    def pepper(*words, **more):
        command = [sys.executable, str(PEPPER), "-u", address, *words]
        env = {**environment(folder), **more}
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=100, check=False)

    def said(*words):
        done = pepper(*words)
        assert done.returncode == 0, done.stderr + done.stdout
        return json.loads(done.stdout)["return"]

    full = said("*", "test.ping")[0]
    assert {minion: value["ret"] for minion, value in full.items()} == dict.fromkeys(ALL, True)
    assert said("-G", "roles:db", "test.arg", "a", "b=2")[0]["db1"]["ret"] == {"args": ["a"], "kwargs": {"b": 2}}
    assert sorted(said("--client=runner", "manage.up")[0]["data"]["return"]) == sorted(ALL)
    assert said("--client=wheel", "key.list_all")[0]["data"]["return"]["minions"] == sorted(ALL)
    assert {minion for each in said("--batch", "1", "*", "test.ping") for minion in each} == ALL
    begun = said("--client=local_async", "*", "test.ping")[0]
    assert set(begun["minions"]) == ALL
    assert set(said("--client=runner", "jobs.lookup_jid", f"jid={begun['jid']}")[0]["data"]["return"]) == ALL
    assert set(said("--run-uri", "*", "test.ping")[0]) == ALL
    done = pepper("--fail-if-incomplete", "*", "test.ping")
    assert done.returncode == 0, done.stderr
    assert all(minion in done.stdout for minion in ALL)
    assert "Authentication denied" in pepper("*", "test.ping", SALTAPI_PASS="wrong").stderr
    assert "Authentication denied" in pepper("*", "test.ping", SALTAPI_USER="bin").stderr
    assert "Authentication denied" in pepper("*", "cmd.run", "id", SALTAPI_USER="nobody").stderr

    script = f"""
        import json, pepper
        api = pepper.Pepper({address!r})
        told = api.login("daemon", {PASSWORD!r}, "pam")
        print(json.dumps([told, api.local("web*", "test.ping"), api.runner("test.arg", arg=["x"], y=1),
            api.wheel("key.finger", match="db1"), api.req_get("/keys"), api.req_get("/minions/db1"),
            api.lookup_jid(api.local_async("db1", "test.ping")["return"][0]["jid"])]))
        events = api.req_stream("/events")
        jid = api.local_async("db1", "test.echo", ["hello"])["return"][0]["jid"]
        for line in events.iter_lines():
            if line.startswith(b"tag:") and line.endswith(f"{{jid}}/ret/db1".encode()):
                print("seen")
                break
        events.close()
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env=environment(folder), capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[1] == "seen"
    told, local, runner, wheel, keys, minion, _ = json.loads(lines[0])
    assert (told["user"], told["eauth"], told["perms"]) == ("daemon", "pam", [".*", "@runner", "@wheel"])
    assert local == {"return": [{"web1": True, "web2": True}]}
    assert runner == {"return": [{"args": ["x"], "kwargs": {"y": 1}}]}
    assert list(wheel["return"][0]["data"]["return"]["minions"]) == ["db1"]
    assert keys["return"]["minions"] == sorted(ALL)
    assert minion["return"][0]["db1"]["id"] == "db1"


def test_the_requests_of_saltgui(port):
    """Those of saltgui/static/scripts/Api.js and CommandBox.js, in the forms in which its pages read the answers."""
    address, _ = port
    with httpx.Client(base_url=address, verify=trusting(), timeout=60, trust_env=False) as browser:
        token = ""

        def ask(method, page, params=None):
            headers = {"accept": "application/json", "cache-control": "no-cache", "x-auth-token": token}
            headers |= {"content-type": "text/plain;charset=UTF-8"} if method == "POST" else {}  # as `fetch` has it
            return browser.request(method, page, content=json.dumps(params) if params else None, headers=headers)

        def low(**params):
            answer = ask("POST", "/", params)
            assert answer.status_code == 200, (params, answer.text)
            return answer.json()["return"][0]

        login = ask("POST", "/login", {"eauth": "pam", "password": PASSWORD, "username": "daemon"})
        told = login.json()["return"][0]
        assert told["perms"]
        assert told["expire"] > told["start"]
        token = told["token"]
        assert ask("GET", "/static/minions.txt").status_code == 404
        assert isinstance(low(client="wheel", fun="config.values")["data"]["return"], dict)
        assert isinstance(low(client="runner", fun="state.orchestrate_show_sls", arg=["*"]), dict)
        keys = low(client="wheel", fun="key.list_all")["data"]["return"]
        assert (keys["minions"], keys["minions_pre"], keys["minions_denied"], keys["minions_rejected"]) == (
            sorted(ALL), [], [], [],
        )  # fmt: skip
        assert set(low(client="wheel", fun="minions.connected")["data"]["return"]) == ALL
        assert set(low(client="wheel", fun="key.finger", match="*")["data"]["return"]["minions"]) == ALL
        assert set(low(client="local", fun="grains.items", tgt_type="glob", tgt="*")) == ALL
        assert low(client="runner", fun="cache.grains", tgt="*")["web1"]["id"] == "web1"
        assert "Master" in low(client="runner", fun="manage.versions")
        for fun in ("pillar.items", "pillar.obfuscate", "mine.valid"):
            assert set(low(client="local", fun=fun, tgt_type="list", tgt="web1")) == {"web1"}, fun
        for fun in ("schedule.list", "beacons.list", "beacons.list_available"):
            kwarg = {"return_yaml": False}
            assert set(low(client="local", fun=fun, kwarg=kwarg, tgt_type="glob", tgt="*")) == ALL, fun
        assert set(low(client="local", fun="test.providers", tgt="web1", tgt_type="glob")) == {"web1"}

        with browser.stream("GET", "/events", headers={"accept": "text/event-stream"}) as stream:  # by its cookie
            lines = stream.iter_lines()
            assert next(lines) == "retry: 400"
            params = {"client": "local_async", "fun": "test.echo", "tgt": "db1", "tgt_type": "glob", "arg": ["hello"]}
            begun = low(**params, full_return=True)
            assert begun["minions"] == ["db1"]
            tag = f"salt/job/{begun['jid']}/ret/db1"
            data = next(line for line in lines if line.startswith("data:") and tag in line)
        event = json.loads(data.removeprefix("data: "))
        assert (event["tag"], event["data"]["id"], event["data"]["return"]) == (tag, "db1", "hello")
        assert {"success", "retcode", "fun", "jid", "_stamp"} <= event["data"].keys()

        jobs = low(client="runner", fun="jobs.list_jobs")
        assert jobs[begun["jid"]]["Function"] == "test.echo"
        assert low(client="runner", fun="jobs.active") == {}
        job = low(client="runner", fun="jobs.list_job", jid=begun["jid"])
        assert (job["Minions"], job["Result"]["db1"]["return"]) == (["db1"], "hello")
        assert job["Result"]["db1"]["success"] is True
        shown = ask("GET", f"/jobs/{begun['jid']}").json()
        assert (shown["info"][0]["Function"], shown["return"]) == ("test.echo", [{"db1": "hello"}])
        assert begun["jid"] in ask("GET", "/jobs").json()["return"][0]
        assert ask("GET", "/minions/web1").json()["return"][0]["web1"]["id"] == "web1"
        asynchronous = ask("POST", "/minions", {"tgt": "web1", "fun": "test.ping"})
        assert asynchronous.status_code == 202
        assert asynchronous.json()["_links"]["jobs"][0]["href"] == f"/jobs/{asynchronous.json()['return'][0]['jid']}"
        assert ask("GET", "/stats").json()["CherryPy Applications"]["Total Requests"] > 20
        assert low(client="local", fun="no.such", tgt="web1").keys() == {"web1"}
        refused = ask("POST", "/", {"client": "ssh", "tgt": "*", "fun": "test.ping"})
        assert (refused.status_code, "ssh is not built" in refused.text) == (400, True)
        assert ask("POST", "/logout", {}).status_code == 200
        assert ask("POST", "/", {"client": "runner", "fun": "manage.up"}).status_code == 401


@pytest.mark.skipif(shutil.which("curl") is None, reason="the example is of curl")
def test_the_example(port):
    address, folder = port
    more = {"SALTAPI_URL": address.rstrip("/"), "CURL_CA_BUNDLE": str(folder / "ca.crt")}
    env = environment(folder) | more

    def run(*words, **others):
        return subprocess.run(
            ["sh", str(EXAMPLE), *words], env=env | others, capture_output=True, text=True, timeout=100, check=False
        )

    done = run("web*", "test.echo", "hello")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"return": [{"web1": "hello", "web2": "hello"}]}
    refused = run("web*", "test.ping", SALTAPI_PASS="wrong")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "the login was refused" in refused.stderr
