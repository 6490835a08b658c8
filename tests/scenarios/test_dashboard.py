"""People at the dashboard, in a real browser, with a real controller and real minions."""

import json
import os
import re

import pytest
from effort import FULL
from pull_scene import PROJECT, Scene

pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
from browsing import CHROMIUM, WIDTHS, Visitor, chromium, with_dashboard

pytestmark = [
    pytest.mark.skipif(not CHROMIUM, reason="there is no chromium (SALTERN_CHROMIUM=PATH, or Debian's package)"),
    pytest.mark.timeout(300),
]
NUMBER = "pillar/numbers.sls"
ROLLOUT = """rollout:
  approvals: {count: 1, states: ['file.*']}
  waves: [{name: test, target: 'test*'}, {name: web, target: 'web*', approve: true}]
"""
MINIONS = {
    "test1": {"environment": "staging"},
    "web1": {"environment": "production"},
    "web2": {"environment": "production"},
}
PAGES = (
    "/", "/?by=wave", "/minions", "/minions/web1", "/minions/web1/states", "/minions/web1/drift", "/minions/web1/runs",
    "/minions/web1/grains", "/minions/web1/policy", "/minions/web1/events", "/rollouts", "/revisions", "/diff",
    "/pulls", "/runs", "/jobs", "/events", "/reactions", "/keys", "/audit", "/search?q=web",
)  # fmt: skip
PICTURES = [("light", "narrow"), ("dark", "wide")] if os.environ.get("SALTERN_SCREENSHOTS") else []
"""For the pictures of the documentation all are looked at."""
HOSTILE = "<img src=x onerror=\"alert('pwned')\"><script>alert('pwned')</script>"


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture
def fleet(make_rig):
    rig = make_rig(MINIONS, **with_dashboard())
    rig.wait_applied(rig.push("What all have"))
    head = rig.push("Waves, and somebody approves", {"states/saltern.yaml": ("drift:", f"{ROLLOUT}drift:")})
    rig.wait("the policy", lambda: {each["applied_revision"] for each in rig.status().values()} == {head})
    return rig


def phase(rig):
    found = rig.ask("/rollouts")
    return found[0]["phase"] if found else ""


def number_of(rig, minion):
    return re.search(r"number (\d+)", (rig.root(minion) / "app.conf").read_text()).group(1)


def test_a_push_is_approved_paused_promoted_and_taken_back(fleet, browser):
    olga = Visitor(browser, fleet, "olga")
    page = olga.page
    page.goto(f"{olga.base}/")
    page.get_by_role("radio", name="Token").check()
    page.locator("input[name=token]").fill("no such token")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("alert").wait_for()
    page = olga.log_in()
    olga.sees("3 of 3 minions")
    page.get_by_role("link", name="Rollouts").click()
    olga.sees("Rollouts")
    fleet.push("The number is one", {NUMBER: ("number: 0\n", "number: 1\n")})
    page.get_by_role("link", name="The number is one").click()  # it comes by itself, as an event
    olga.sees("0 of 1")
    assert number_of(fleet, "test1") == "0", "nobody has approved of it"
    olga.presses("Approve", "Approve")
    olga.sees_badge("Waiting")
    assert (number_of(fleet, "test1"), number_of(fleet, "web1")) == ("1", "0")
    olga.presses("Pause", "Pause")
    olga.sees_badge("Paused")
    assert phase(fleet) == "Paused"
    olga.presses("Resume", "Resume")
    olga.presses("Promote", "Promote")
    olga.sees_badge("Completed")
    assert [number_of(fleet, each) for each in MINIONS] == ["1", "1", "1"]
    olga.shoot("rollout")
    olga.presses("Take back", "Take back", why="it was wrong")
    fleet.wait("all to be back", lambda: [number_of(fleet, each) for each in MINIONS] == ["0", "0", "0"])
    page.get_by_role("link", name="Rollouts").click()
    olga.sees("it was wrong")
    assert olga.complaints == []
    page.get_by_role("button", name="Log out").click()
    page.get_by_role("button", name="Log in").wait_for()


def test_whoever_may_only_look_is_offered_nothing_else(fleet, browser):
    vera = Visitor(browser, fleet, "vera")
    page = vera.log_in()
    vera.open("/minions/web1")
    sync = page.get_by_role("button", name="Sync")
    assert not sync.count() or sync.is_disabled()
    assert not page.get_by_role("link", name="Audit").count()
    vera.open("/minions")
    page.get_by_label(re.compile("Target|Minions|Id")).first.fill("web*")
    page.get_by_role("button", name="Filter").click()
    page.get_by_role("link", name="test1").wait_for(state="detached")
    assert page.get_by_role("link", name="web1").count()
    page.get_by_role("link", name="web2").first.click()
    page.get_by_role("heading", name="web2", level=1).wait_for()
    page.go_back()
    page.get_by_role("link", name="web1").wait_for()
    assert "web" in page.url, "filters are part of the address"


def test_a_key_is_accepted_by_its_fingerprint(fleet, browser):
    fleet.minions["late1"] = {}
    fleet.configure_minions()
    ada = Visitor(browser, fleet, "ada")
    page = ada.log_in()
    ada.open("/keys")
    fleet.start_minion("late1")
    row = page.get_by_role("row", name=re.compile("late1"))
    row.wait_for()
    [key] = [each for each in fleet.ask("/keys") if each["minion"] == "late1"]
    assert key["fingerprint"] in row.inner_text().replace("\n", "")
    row.get_by_role("button", name="Accept").click()
    page.get_by_role("dialog").get_by_role("button", name="Accept").click()
    page.get_by_role("link", name="late1").wait_for()
    fleet.wait("it to connect", lambda: fleet.status()["late1"]["connected"])
    ada.open("/audit")
    ada.sees("ada")
    assert ada.complaints == []


def test_all_is_done_by_keys_alone(fleet, browser):
    olga = Visitor(browser, fleet, "olga")
    page = olga.page
    press = page.keyboard.press
    page.goto(f"{olga.base}/")
    page.get_by_role("radio", name="Token").focus()
    press("Space")
    press("Tab")
    page.keyboard.type(olga.token)
    press("Enter")
    page.get_by_role("heading", name="Fleet", level=1).wait_for()
    press("g")
    press("m")
    page.get_by_role("heading", name="Minions", level=1).wait_for()
    press("/")
    page.keyboard.type("web2")
    press("Enter")
    page.get_by_role("heading", name="Search: web2").wait_for()
    for _ in range(60):
        press("Tab")
        if page.evaluate("document.activeElement.textContent") == "web2":
            break
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none", (
        "what has the focus is seen"
    )
    press("Enter")
    page.get_by_role("heading", name="web2", level=1).wait_for()
    pause = page.get_by_role("button", name="Pause")
    for _ in range(60):
        press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Pause":
            break
    assert pause.evaluate("each => each === document.activeElement")
    press("Enter")
    page.get_by_role("dialog").wait_for()
    press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    assert not fleet.status()["web2"]["paused"]
    pause.focus()
    press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="Pause").focus()
    press("Enter")
    page.get_by_role("button", name="Resume").wait_for()
    assert fleet.status()["web2"]["paused"]
    press("?")
    page.get_by_role("heading", name="Keys", level=2).wait_for()
    press("Escape")
    page.get_by_role("heading", name="Keys", level=2).wait_for(state="detached")


def test_what_others_wrote_is_text(make_rig, forge, browser):
    """Grains, commits, files, events, titles of pull requests: markup in them is shown, and never made."""
    scene = Scene(make_rig, forge, minions={"web1": {"evil": HOSTILE, "environment": HOSTILE}}, **with_dashboard())
    rig = scene.rig
    rig.push(f"Subject {HOSTILE}", {"states/app.conf.j2": ("number {{", HOSTILE + " number {{")})
    rig.wait_applied(rig.head())
    pull = scene.open(2, title=f"Title {HOSTILE}")
    scene.wait_report(pull)
    rig.saltern("run", "web1", "event.send", "custom/evil", json.dumps({"text": HOSTILE}))
    (rig.root("web1") / "app.conf").write_text(f"{HOSTILE}\n")
    rig.saltern("run", "web1", "state.apply", "test=True", check=False)
    [run] = [each["run_id"] for each in rig.history("web1") if each["kind"] == "apply"][:1]
    ada = Visitor(browser, rig, "ada")
    page = ada.log_in()
    shown_at = []
    for path in (
        *PAGES,
        f"/pulls/hub/{PROJECT}/{pull.number}",
        f"/runs/{run}",
        f"/revisions/{rig.head()}",
        f"/search?q={HOSTILE}",
    ):
        ada.open(path)
        page.wait_for_timeout(100)
        if "onerror=" in page.locator("body").inner_text():
            shown_at.append(path)
        made = page.evaluate("document.querySelectorAll('img[src=x], main script, [onerror]').length")
        assert made == 0, path
    assert ada.dialogs == []
    assert [each for each in ada.complaints if "status of 404" not in each] == []
    for path in ("/", "/minions/web1/grains", "/pulls", "/revisions", f"/search?q={HOSTILE}"):
        assert path in shown_at, f"{path} was to show it"


@pytest.mark.parametrize(("theme", "width"), [("light", "wide"), ("dark", "narrow"), *PICTURES])
def test_pages_are_readable(pages_rig, browser, theme, width):
    """By axe-core, in both themes and on a phone's width, where nothing is wider than the window."""
    ada = Visitor(browser, pages_rig, "ada", theme=theme, width=WIDTHS[width], checked=True)
    page = ada.page
    page.goto(f"{ada.base}/")
    page.get_by_role("button", name="Log in").wait_for()
    found = {"/login": ada.findings()}
    ada.log_in()
    # With pictures, or by `make soak`, each page in each form; otherwise each page in one of two.
    every = FULL or PICTURES
    for path in PAGES if every else PAGES[0 if width == "wide" else 1 :: 2]:
        ada.open(path)
        found[path] = ada.findings()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{path} is wider than the window"
        if path in ("/", "/minions/web1"):
            page.wait_for_timeout(300)
            ada.shoot(f"{'fleet' if path == '/' else 'minion'}-{theme}-{width}")
    assert {path: each for path, each in found.items() if each} == {}


@pytest.fixture(scope="module")
def pages_rig(make_shared_rig):
    rig = make_shared_rig(MINIONS, **with_dashboard())
    rig.wait_applied(rig.push("What all have"))
    rig.push("The number is one", {NUMBER: ("number: 0\n", "number: 1\n")})
    rig.wait_applied(rig.head())
    (rig.root("web1") / "app.conf").write_text("by hand\n")
    rig.saltern("sync", "web1", "--test", check=False)
    return rig
