"""The dashboard in a real browser: Debian's chromium, driven by Playwright, as a person with a role."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright
from rig import Rig, free_ports

CHROMIUM = os.environ.get("SALTERN_CHROMIUM") or shutil.which("chromium") or ""
PATIENCE = 30_000
"""Milliseconds until something that should be on a page is missed."""
ROLES = {"viewer": ["vera"], "operator": ["olga"], "approver": ["olga", "paul"], "admin": ["ada"]}
WIDTHS = {"wide": 1280, "narrow": 390}


def with_dashboard(**settings: Any) -> dict[str, Any]:
    """Options of a controller that serves the dashboard on a port of the loopback, with a user of each role."""
    api = {"port": free_ports(1)[0], "plain_on_loopback": True}
    return {"api": api, "api_roles": ROLES, **settings}


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser that asks nobody but the dashboard."""
    quiet = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=[*quiet, "--disable-sync", "--no-first-run"])
        try:
            yield browser
        finally:
            browser.close()


class Visitor:
    """Somebody in front of the dashboard of a rig.

    Args:
        browser: of `chromium`.
        rig: a controller that was started with `with_dashboard`.
        user: one of those that `ROLES` names.
        theme: `light` or `dark`.
        width: of the window, in pixels.
        checked: whether axe-core is to run on the pages, which their policy would not let in.
    """

    def __init__(
        self, browser: Browser, rig: Rig, user: str, *, theme: str = "light", width: int = 1280, checked: bool = False
    ) -> None:
        self.rig = rig
        self.base = f"http://127.0.0.1:{rig.controller_setting('api')['port']}"
        self.token = json.loads(rig.saltern("token", "create", user, "--out", "json").stdout)["token"]
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if theme == "dark" else "light",
            reduced_motion="reduce",
            bypass_csp=checked,
        )
        context.set_default_timeout(PATIENCE)
        self.page: Page = context.new_page()
        self.complaints: list[str] = []
        """What the browser said of errors, and of what the policy of the page forbade."""
        self.dialogs: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda line: line.type in ("error", "warning") and self.complaints.append(line.text))
        self.page.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))

    def log_in(self) -> Page:
        """Log in with the token; the page, which shows the fleet."""
        self.page.goto(f"{self.base}/")
        self.page.get_by_role("radio", name="Token").check()
        self.page.locator("input[name=token]").fill(self.token)
        self.page.get_by_role("button", name="Log in").click()
        self.page.get_by_role("heading", name="Fleet", level=1).wait_for()
        del self.complaints[:]  # that nobody was logged in, when the page was opened, is one
        return self.page

    def open(self, path: str) -> Page:
        """A page by its address."""
        self.page.goto(f"{self.base}{path}")
        self.page.locator("h1").first.wait_for()
        self.page.locator("main[aria-busy=false]").wait_for()
        return self.page

    def sees(self, text: str | re.Pattern[str]) -> None:
        """Wait until a text is shown in the content of the page."""
        self.page.locator("main").get_by_text(text).first.wait_for()

    def sees_badge(self, text: str) -> None:
        """Wait until a badge beside the name of what is shown has this text."""
        self.page.locator(".page-head .badge", has_text=re.compile(rf"\b{text}$")).wait_for()

    def presses(self, name: str, answer: str = "", *, why: str = "") -> None:
        """Press a button, and the one of the question that is asked then."""
        self.page.get_by_role("button", name=name, exact=True).first.click()
        if answer:
            asked = self.page.get_by_role("dialog")
            if why:
                asked.get_by_role("textbox").fill(why)
            asked.get_by_role("button", name=answer, exact=True).click()

    def findings(self, impacts: Sequence[str] = ("serious", "critical")) -> list[str]:
        """What axe-core finds on the page that is shown."""
        found = Axe().run(self.page).response["violations"]
        return [
            f"{each['id']} ({each['impact']}): {node['html'][:200]} {node['failureSummary']}"
            for each in found
            if each["impact"] in impacts
            for node in each["nodes"]
        ]

    def shoot(self, name: str) -> None:
        """Keep a picture, where pictures of the documentation are made anew (`SALTERN_SCREENSHOTS=DIR`)."""
        if folder := os.environ.get("SALTERN_SCREENSHOTS"):
            self.page.screenshot(path=Path(folder) / f"{name}.png")
