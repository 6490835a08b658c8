"""Links between the documents lead somewhere."""

from __future__ import annotations

import re

_LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")


def test_relative_links_resolve(pages):
    broken = []
    for page in pages.values():
        for target in _LINK.findall(page.prose):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            path = (page.path.parent / file).resolve() if file else page.path
            if not path.exists():
                broken.append(f"{page.name}: {target}")
            elif anchor and anchor not in _page(pages, path).anchors():
                broken.append(f"{page.name}: {target} has no such heading")
    assert not broken


def test_documents_named_in_text_are_there(pages, root):
    missing = [
        f"{page.name}: {name}"
        for page in pages.values()
        for name in re.findall(r"(?<![\w/])docs/[\w./-]+\.md", page.text)
        if not (root / name).exists()
    ]
    assert not missing


def test_documents_named_in_code_are_there(root):
    missing = [
        f"{path}: {name}"
        for room in ("controller", "gitfs", "highstate", "matching", "minion", "ops", "options", "reactors", "wire")
        for path in (root / room).rglob("*.py")
        for name in re.findall(r"\bdocs/[\w./-]+\.md", path.read_text(encoding="utf-8"))
        if not (root / name).exists()
    ]
    assert not missing


def test_hosts_are_examples(pages):
    """No link or address leads to a real host, but for the specifications that behaviour follows."""
    known = ("example.org", "docs.saltproject.io", "rfc.zeromq.org", "127.0.0.1", "no-color.org", "kubernetes.io")
    strange = [
        f"{page.name}: {host}"
        for page in pages.values()
        for host in re.findall(r"(?:https?|ssh|git)://(?:[\w.-]+@)?([\w-]+(?:\.[\w-]+)+)", page.text)
        if not host.endswith(known)
    ]
    assert not strange


def _page(pages, path):
    return next(page for page in pages.values() if page.path == path)
