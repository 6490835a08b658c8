"""What the dashboard's application serves, and that its files keep the promises of its policy."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import httpx
import pytest

import controller.web.app as web
from controller.web.app import CONTENT_SECURITY_POLICY, PAGES, assets, shell, version, web_app

STATIC = Path(web.__file__).parent / "static"
SCRIPTS = sorted(STATIC.rglob("*.js"))


@pytest.fixture
async def browser():
    transport = httpx.ASGITransport(app=web_app())
    async with httpx.AsyncClient(transport=transport, base_url="http://saltern") as client:
        yield client


@pytest.mark.parametrize("path", ["/", "/minions", "/minions/web1/runs", "/pulls/forge/team/states/7"])
async def test_each_page_is_the_same_shell(browser, path):
    answer = await browser.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.content == shell().body


async def test_what_nobody_knows_is_not_found(browser):
    assert (await browser.get("/nothing/here")).status_code == 404
    for path in ("nothing.js", "index.html", "../app.py", "%2e%2e/app.py", ""):
        assert (await browser.get(f"/assets/{version()}/{path}")).status_code == 404, path


async def test_the_shell_names_files_that_are_there_and_may_be_kept(browser):
    names = re.findall(rf'/assets/{version()}/([^"]+)', shell().body.decode())
    assert {"main.js", "style.css", "mark.svg", "pages/fleet.js"} <= set(names)
    for name in names:
        answer = await browser.get(f"/assets/{version()}/{name}")
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
        assert answer.content == (STATIC / name).read_bytes()


async def test_a_page_from_before_an_upgrade_gets_the_new_file_and_keeps_it_not(browser):
    answer = await browser.get("/assets/000000000000/main.js")
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-cache"


async def test_head_and_gzip_and_other_methods(browser):
    plain = await browser.get("/", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    packed = await browser.head("/", headers={"accept-encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert not packed.content
    assert gzip.decompress(shell().packed) == plain.content
    refused = await browser.post("/minions")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD")


def test_files_load_nothing_from_elsewhere():
    for name, asset in assets().items():
        text = asset.body.decode()
        found = [
            each for each in re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s\"'`)]*", text) if "www.w3.org" not in each
        ]
        assert not found, f"{name} names {found}"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_no_script_makes_markup_or_code_out_of_text(script):
    """The policy would stop it in browsers that know Trusted Types; this holds for all."""
    text = script.read_text()
    for forbidden in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "srcdoc",
    ):
        assert forbidden not in text, forbidden


def test_the_policy_lets_nothing_inline_in():
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    page = shell().body.decode()
    assert not re.search(r"<style|style=|\son\w+=", page)
    assert not re.search(r"<script(?![^>]*\ssrc=)", page)


def test_pages_of_the_server_are_those_of_the_scripts():
    routes = re.findall(r"^  \[/\^\\/(\w*)", (STATIC / "main.js").read_text(), re.MULTILINE)
    assert set(routes) == PAGES
