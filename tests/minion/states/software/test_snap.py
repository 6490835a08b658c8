"""snap: a stand-in for the program, which keeps snaps in a file and checks what it is told: the real one needs systemd
and a store."""

import json
import os

import pytest

from minion.execution import CallFailed, Context, Modules

SNAP = """#!/usr/bin/env python3
import json, pathlib, sys
kept = pathlib.Path({kept!r})
snaps = json.loads(kept.read_text())
verb, *words = sys.argv[1:]
words = [word for word in words if word not in ("--unicode=never", "--color=never")]
def option(name):
    if name not in words:
        return None
    place = words.index(name)
    value = words[place + 1]
    del words[place:place + 2]
    return value
def flag(name):
    if name in words:
        words.remove(name)
        return True
    return False
def one():
    (name,) = words
    if name not in snaps:
        sys.exit('error: snap "' + name + '" is not installed')
    return snaps[name]
if verb == "list":
    if not snaps:
        print("No snaps are installed yet. Try 'snap install hello-world'.", file=sys.stderr)
        sys.exit(0)
    print("Name  Version  Rev  Tracking  Publisher  Notes")
    for name, snap in snaps.items():
        notes = ",".join(word for word in ("disabled", "held", "classic") if snap.get(word)) or "-"
        print(name, "1.0", snap["revision"], snap["channel"], "canonical**", notes, sep="  ")
elif verb == "refresh" and flag("--list"):
    print("Name  Version  Rev  Size  Publisher  Notes")
    for name, snap in snaps.items():
        if snap["revision"] != "9":
            print(name, "2.0", "9", "1MB", "canonical**", "-", sep="  ")
elif verb == "refresh" and (words[:1] == ["--unhold"] or words[0].startswith("--hold")):
    held = words.pop(0) != "--unhold"
    one()["held"] = held
elif verb in ("install", "refresh"):
    channel, revision, classic = option("--channel"), option("--revision"), flag("--classic")
    (name,) = words
    if name == "none":
        sys.exit('error: snap "none" not found')
    if verb == "install" and name in snaps:
        sys.exit("already there")
    snap = snaps.setdefault(name, {{"channel": "latest/stable", "revision": "8"}})
    snap.update(classic=classic or snap.get("classic", False), channel=channel or snap["channel"])
    snap["revision"] = revision or snap["revision"]
elif verb == "remove":
    flag("--purge"), option("--revision")
    one()
    del snaps[words[0]]
elif verb in ("enable", "disable"):
    one()["disabled"] = verb == "disable"
elif verb == "get":
    assert words.pop(0) == "-d"
    options = one().get("options")
    if not options:
        sys.exit('error: snap "' + words[0] + '" has no configuration')
    print(json.dumps(options))
elif verb == "set":
    assert words.pop(0) == "-t"
    key, _, value = words.pop(1).partition("=")
    one().setdefault("options", {{}})[key] = json.loads(value)
elif verb == "unset":
    key = words.pop(1)
    del one()["options"][key]
elif verb == "services":
    print("Service  Startup  Current  Notes\\nweb.server  enabled  active  -\\nother.x  disabled  inactive  -")
elif verb in ("start", "stop", "restart"):
    (kept.parent / "told").write_text(" ".join(sys.argv[1:]))
else:
    sys.exit("unknown verb " + verb)
kept.write_text(json.dumps(snaps))
"""


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Where it keeps them."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/snap"
    program.write_text(SNAP.format(kept=str(tmp_path / "kept")))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    (tmp_path / "kept").write_text("{}")
    return tmp_path / "kept"


def test_snaps_come_and_go(converge, kept):
    done = converge("snap.installed", "web", channel="edge", classic=True, held=True)
    assert done.comment == "Installed the snap"
    assert done.changes == {"installed": "web", "held": {"old": False, "new": True}}
    assert json.loads(kept.read_text())["web"] == {
        "channel": "latest/edge", "revision": "8", "classic": True, "held": True,
    }  # fmt: skip
    done = converge("snap.installed", "web", channel="2.0", revision=7, held=False)
    assert (done.comment, done.changes) == ("Modified the snap", {
        "channel": {"old": "latest/edge", "new": "2.0/stable"}, "revision": {"old": "8", "new": "7"},
        "held": {"old": True, "new": False},
    })  # fmt: skip
    done = converge("snap.installed", "web", channel="2.0/stable", revision="latest")
    assert done.changes == {"revision": {"old": "7", "new": "9"}}
    assert converge("snap.removed", "web", purge=True).changes == {"removed": "web"}
    assert converge("snap.removed", "web").comment == "The snap is already absent"


def test_a_snap_is_switched_off_and_on(converge, kept):
    kept.write_text('{"web": {"channel": "latest/stable", "revision": "8"}}')
    assert converge("snap.disabled", "web").changes == {"disabled": "web"}
    assert converge("snap.enabled", "web").comment == "Enabled the snap"
    assert converge("snap.enabled", "other").comment == 'snap "other" is not installed'


def test_options(converge, kept):
    kept.write_text('{"web": {"channel": "latest/stable", "revision": "8", "options": {"a": {"b": 1}, "c": 2}}}')
    done = converge("snap.option_managed", "web", options={"a.b": 1, "d": [1], "c": None})
    assert done.changes == {
        "d": {"old": None, "new": [1], "set": True}, "c": {"old": 2, "new": None, "unset": True},
    }  # fmt: skip
    assert converge("snap.option_managed", "web", option="d", value=[2]).changes == {"d": {"old": [1], "new": [2]}}
    assert "Either option" in converge("snap.option_managed", "web").comment


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("none", {}, "not found"),
        ("--classic", {}, "is no name of a snap"),
        ("web", {"channel": "a/b"}, "Invalid channel risk level 'b'"),
        ("web", {"channel": "a/b/c/d"}, "Invalid channel name"),
        ("/x/web.snap", {}, "files of snaps are not supported"),
        ("web", {"assertions": "/x.assert"}, "assertions"),
    ],
)
def test_what_snap_does_not_take_is_an_error(converge, kept, name, arguments, said):
    done = converge("snap.installed", name, **arguments)
    assert done.result is False
    assert said in done.comment


def test_the_module(kept):
    def call(fun, *args, **given):
        return Modules(Context(minion_id="m")).call(f"snap.{fun}", args, given)

    assert call("install", "web", channel="beta") is True
    with pytest.raises(CallFailed, match="already installed"):
        call("install", "web")
    assert call("list")["web"]["channel"] == "latest/beta"
    assert (call("is_installed", "web"), call("is_uptodate", "web")) == (True, False)
    assert call("hold", "web", duration="24h") is True
    assert call("is_held", "web") is True
    assert call("list_upgrades", exclude_held=True) == {}
    assert call("unhold", "web") is True
    assert call("refresh", "web", revision=9) is True
    assert call("is_uptodate") is True
    assert call("disable", "web") is True
    assert call("is_enabled", "web") is False
    assert call("enable", "web") is True
    assert call("option_set", "web", "a", {"b": 1}) is True
    assert call("options", "web", "a") == {"a.b": 1}
    assert call("option_unset", "web", "a") is True
    assert call("services", snap="web") == {"web.server": {"enabled": True, "running": True, "notes": ["-"]}}
    for verb, more in (("start", {"enable": True}), ("stop", {"disable": True}), ("restart", {"reload": True})):
        assert call(f"service_{verb}", "web.server", **more) is True
        assert (kept.parent / "told").read_text() == f"{verb} --{next(iter(more))} web.server"
    with pytest.raises(CallFailed, match="No such service"):
        call("service_stop", "none")
    assert call("purge", "web") is True
    with pytest.raises(CallFailed, match="is not installed"):
        call("is_held", "web")
