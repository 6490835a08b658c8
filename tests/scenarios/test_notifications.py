"""A real controller tells a real HTTP server what happens, over its own kill -9 and an outage of the receiver."""

import hashlib
import hmac
import http.server
import json
import threading

import pytest

POLICY = """notifications:
  group_wait: 0
  group_interval: 1
  group_by: [kind, subject]
  routes:
  - receivers: [hook, nobody]
    kinds: [minion_failed, compile_broken, revision_applied, minion_lost]
"""
SECRET = "of the hook"


class Hook:
    """An HTTP server that takes messages, or refuses them for a while."""

    def __init__(self):
        self.taken, self.refuses, self.asked = [], False, 0
        hook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                hook.asked += 1
                self.send_response(503 if hook.refuses else 204)
                self.end_headers()
                if not hook.refuses:
                    hook.taken.append((dict(self.headers), body))

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/in"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def told(self, kind, action="trigger"):
        """Messages of a kind."""
        found = [json.loads(body) for _, body in self.taken]
        return [one for one in found if one["labels"]["kind"] == kind and one["action"] == action]


@pytest.fixture
def hook():
    made = Hook()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.mark.timeout(300)
def test_what_happens_is_told_and_a_kill_loses_nothing(make_rig, hook, tmp_path):
    (tmp_path / "secret").write_text(SECRET)
    receivers = {"hook": {"kind": "webhook", "url": hook.url, "secret": {"file": str(tmp_path / "secret")}}}
    rig = make_rig(minions={"web1": {}}, notifications={"receivers": receivers})
    policy = (rig.work / "states/saltern.yaml").read_text()
    (rig.work / "states/saltern.yaml").write_text(f"{policy}\n{POLICY}")
    first = rig.push("the first tree")
    rig.wait_applied(first)
    assert rig.ask("/notifications")["unknown"] == ["nobody"]
    done = json.loads(rig.saltern("notify", "test", "hook", "--out", "json").stdout)
    assert done["taken"], done
    [(headers, body)] = [one for one in hook.taken if b"a test of notifications" in one[1]]
    signed = hmac.new(SECRET.encode(), headers["saltern-timestamp"].encode() + b"." + body, hashlib.sha256)
    assert headers["saltern-signature"] == f"v1={signed.hexdigest()}"

    hook.refuses = True
    app = "app-config:\n"
    bad = rig.push("it fails", {"states/app.sls": (app, f"broken:\n  cmd.run:\n    - name: 'false'\n{app}")})
    rig.wait("a message that waits", lambda: [one for one in rig.ask("/notifications/spool") if one["error"]])
    [waiting] = rig.ask("/notifications/spool")
    assert "503" in waiting["error"]
    assert "in" not in waiting["error"].split(), "the address is a secret"
    rig.kill("controller", children=True)
    hook.refuses = False
    rig.start_controller()
    [told] = rig.wait("the message", lambda: hook.told("minion_failed"))
    assert (told["firing"]["shown"][0]["minion"], told["revision"]) == ("web1", bad)
    assert told["commits"]["states"].startswith(bad)
    assert told["id"] == waiting["id"], "it is the same message"

    good = rig.push("it is mended", {"states/app.sls": ("name: 'false'", "name: 'true'")})
    rig.wait_applied(good)
    [over] = rig.wait("the end", lambda: hook.told("minion_failed", "resolve"))
    assert over["group"] == told["group"]
    [applied] = rig.wait(
        "the revision", lambda: [one for one in hook.told("revision_applied") if one["revision"] == good]
    )
    assert applied["severity"] == "info"
    assert hook.told("minion_failed") == [told], "nothing was told twice"
    assert hook.told("minion_lost") == [], "a minion that connects again after a restart is not lost"
    rig.wait("an empty spool", lambda: rig.ask("/notifications/spool") == [])
