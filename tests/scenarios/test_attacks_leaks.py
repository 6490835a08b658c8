"""What is secret of a controller stands in no log, answer, metric, event, process table or file that others read."""

import json
import os
import stat
from pathlib import Path

import httpx

HOOK, PASSWORD, TOKEN = "canary-hook-1", "canary-password-2", "canary-token-3"
CANARIES = (HOOK, PASSWORD, TOKEN)


def shown(rig):
    """All that people and machines are shown, by where it stands."""
    found = {name: rig.log(name, 100_000) for name in ("controller", *rig.minions)}
    found |= {path: json.dumps(rig.ask(path)) for path in ("/status", "/remotes", "/keys", "/history")}
    found["/why"] = json.dumps(rig.ask("/why", minion="web1"))
    found["/metrics"] = httpx.get(rig.http + "/metrics", trust_env=False, verify=False).text
    for verb in (("remote", "list"), ("remote", "check"), ("status",), ("show", "web1"), ("diff", "web1")):
        done = rig.saltern(*verb, check=False)
        found[" ".join(verb)] = done.stdout + done.stderr
    return found | processes(rig)


def processes(rig):
    """Arguments and environment of every process of the rig."""
    sessions = {rig.pid(name) for name in ("controller", *rig.minions)}
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(folder.name)) in sessions:
                for name in ("cmdline", "environ"):
                    found[f"{folder.name} {name}"] = (folder / name).read_bytes().decode(errors="replace")
        except (ProcessLookupError, FileNotFoundError):
            continue
    return found


def test_passwords_of_the_configuration_are_shown_nowhere(make_rig):
    remotes = [
        {f"https://user:{PASSWORD}@127.0.0.1:1/x.git": [{"name": "away"}]},
        {"https://127.0.0.1:1/y.git": [{"name": "token"}, {"user": "oauth2"}, {"password": TOKEN}]},
    ]
    rig = make_rig(minions={"web1": {}}, hook_secret=HOOK)
    rig.wait_applied(rig.push("first"))
    settings = rig.config / "controller.d"
    settings.mkdir()
    own = [{str(rig.remote): [{"name": "states"}, {"root": "states"}, {"base": "main"}]}]
    (settings / "more").write_text(json.dumps({"gitfs_remotes": own + remotes}))
    rig.stop("controller")
    rig.start_controller()
    rig.wait("the remotes to fail", lambda: [each["error"] for each in rig.remotes()].count("") <= 2)
    for headers in (
        {},
        {"x-gitlab-token": HOOK},
        {"x-gitlab-token": HOOK + "x"},
        {"x-hub-signature-256": "sha256=" + HOOK},
    ):
        httpx.post(rig.http + "/hook", headers=headers, content=b"{}", trust_env=False, verify=False)
    httpx.post(rig.http + f"/hook?secret={HOOK}", content=b"{}", trust_env=False, verify=False)
    found = {place: [one for one in CANARIES if one in text] for place, text in shown(rig).items()}
    assert {place: names for place, names in found.items() if names} == {}


def test_nothing_is_left_open_to_others_whatever_the_umask(make_rig):
    """Controller and minion run a whole push under umask 000; what they made is walked."""
    before = os.umask(0)
    try:
        rig = make_rig(minions={"web1": {}})
        rig.wait_applied(rig.push("first"))
        rig.saltern("run", "web1", "test.ping")
        rig.wait_applied(rig.push("second", {"pillar/numbers.sls": ("number: 0", "number: 1")}))
    finally:
        os.umask(before)
    agent = rig.directory / "web1" / "agent"
    opened = {}
    for top in (rig.directory / "c", agent):
        for folder, names, files in os.walk(top):
            for name in (*names, *files):
                found = Path(folder, name).lstat()
                if not stat.S_ISLNK(found.st_mode) and stat.S_IMODE(found.st_mode) & 0o077:
                    opened[str(Path(folder, name).relative_to(rig.directory))] = oct(stat.S_IMODE(found.st_mode))
    assert opened == {}
