#!/usr/bin/env python3
"""Posts comment.md on the pull request of a GitHub or GitLab job, or replaces the comment that it posted before.

Needs Python and nothing else. The comment's first line is hidden and says whose it is; a comment of a controller on the
same pull request is left alone. Nothing is written where the comment says the same already.

GitHub: GITHUB_TOKEN and PULL_REQUEST (its number), beside what a job has anyway.
GitLab: GITLAB_TOKEN (of the project, scope api), beside what a merge request pipeline has anyway.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from pathlib import Path
from typing import Any

MARKER = "<!-- saltern-preview:v1 controller= "
"""With which a comment of `saltern preview --local` begins: it has no controller."""
PAGES = 30
"""Of 100 comments, in which an earlier one is looked for."""
SECONDS = 30


def main() -> int:
    """Post comment.md; 0 when it is there."""
    if not Path("comment.md").is_file():
        sys.stderr.write("there is no comment.md: the preview has not ended\n")
        return 1
    text = Path("comment.md").read_text(encoding="utf-8")
    comments, comment, token, update = addresses()
    for known in listed(comments, token):
        if known["body"].startswith(MARKER):
            if said(known["body"]) != said(text):
                call(update, comment.format(known["id"]), token, {"body": text})
            return 0
    call("POST", comments, token, {"body": text})
    return 0


def addresses() -> tuple[str, str, dict[str, str], str]:
    """Of the comments and of one comment, the headers that prove who we are, and the method that replaces one."""
    env = os.environ
    if "GITHUB_REPOSITORY" in env:
        issues = f"{env['GITHUB_API_URL']}/repos/{env['GITHUB_REPOSITORY']}/issues"
        headers = {"Authorization": f"Bearer {env['GITHUB_TOKEN']}", "Accept": "application/vnd.github+json"}
        return f"{issues}/{env['PULL_REQUEST']}/comments", issues + "/comments/{}", headers, "PATCH"
    project = f"{env['CI_API_V4_URL']}/projects/{env['CI_PROJECT_ID']}"
    notes = f"{project}/merge_requests/{env['CI_MERGE_REQUEST_IID']}/notes"
    return notes, notes + "/{}", {"PRIVATE-TOKEN": env["GITLAB_TOKEN"]}, "PUT"


def listed(address: str, headers: dict[str, str]) -> list[dict[str, Any]]:
    """The comments."""
    found: list[dict[str, Any]] = []
    for page in range(1, PAGES + 1):
        more = call("GET", f"{address}?per_page=100&page={page}", headers)
        found += more
        if len(more) < 100:
            break
    return found


def said(text: str) -> list[str]:
    """What a comment says beside its first line, which has the time."""
    return [line.rstrip() for line in text.strip().splitlines()[1:]]


def call(method: str, address: str, headers: dict[str, str], body: object = None) -> Any:
    """A call of the forge's API; its answer."""
    data = None if body is None else json.dumps(body).encode()
    sent = {**headers, "Content-Type": "application/json"}
    # The address is the forge's own, from the environment of the job.
    request = urllib.request.Request(address, data, sent, method=method)  # noqa: S310
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310
        return json.load(answer)


if __name__ == "__main__":
    sys.exit(main())
