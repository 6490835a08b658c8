"""A rig, a forge on this machine, and what people do with both: for the life of pull requests."""

import re
import urllib.request

NUMBER = "pillar/numbers.sls"
PROJECT = "org/states"


class Scene:
    """A rig, a forge, and what people do with both."""

    def __init__(self, make_rig, forge, *, hook=True, poll_interval=0.3, minions=None, **settings):
        self.forge = forge
        forge.model.project(PROJECT, max="write", ann="read", alice="write")
        entry = {
            "name": "hub",
            "kind": "github",
            "api": forge.api,
            "app_id": "7",
            "private_key": forge.private_key,
            "projects": {"states": PROJECT},
            "poll_interval": poll_interval,
            **settings.pop("entry", {}),
        }
        minions = minions or {"web1": {"roles": ["web"]}}
        self.rig = make_rig(minions, hook_secret="hook-secret", forges=[entry], **settings)
        self.rig.wait_applied(self.rig.push("first"))
        if hook:
            forge.hook = self.rig.http + "/hook"

    def commit(self, number, *, branch="topic", force=False):
        """A commit with this number on a branch; the whole commit."""
        git = self.rig.git
        git("checkout", "-q", "-B", branch, "main" if force else "HEAD")
        file = self.rig.work / NUMBER
        file.write_text(re.sub(r"number: \S+", f"number: {number}", file.read_text()))
        git("commit", "-q", "--allow-empty", "-am", f"number {number}")
        git("push", "-q", *(["--force"] if force else []), "origin", f"HEAD:{branch}")
        head = git("rev-parse", "HEAD")
        git("checkout", "-q", branch)
        return head

    def open(self, number, **more):
        branch = more.pop("branch", "topic")
        self.rig.git("checkout", "-q", "main")
        return self.forge.model.open(PROJECT, head=self.commit(number, branch=branch), branch=branch, **more)

    def push(self, pull, number, *, force=False):
        self.forge.model.push(pull, self.commit(number, branch=pull.head_branch, force=force), force=force)

    def merge(self, pull, method="merge"):
        git = self.rig.git
        git("checkout", "-q", "main")
        if method == "merge":
            git("merge", "-q", "--no-ff", "-m", "Merge", pull.head)
        elif method == "squash":
            git("merge", "-q", "--squash", pull.head)
            git("commit", "-q", "-m", "Squashed")
        elif method == "rebase":
            git("cherry-pick", pull.head)
        else:
            git("merge", "-q", "--ff-only", pull.head)
        git("push", "-q", "origin", "main")
        commit = git("rev-parse", "HEAD")
        self.forge.model.merge(pull, commit, method=method)
        return commit

    def ours(self, pull):
        return [each for each in pull.visible() if each.author == self.forge.model.robot]

    def wait_comment(self, pull, *texts, count=1):
        """Wait until we have so many comments, and the first has all texts; it."""

        def found():
            ours = self.ours(pull)
            return len(ours) == count and all(text in ours[0].body for text in texts) and ours[0]

        return self.rig.wait(f"the comment with {texts}", found)

    def wait_report(self, pull, *, count=1):
        """Wait until the comment has the report of the head of now."""
        return self.wait_comment(pull, f"→ `{pull.head[:8]}`", count=count)

    def wait_check(self, pull, state, head=""):
        """Wait until the check of a head (the newest) is what it should be."""

        def found():
            check = self.forge.model.checks(PROJECT, head or pull.head).get("saltern/preview (base)")
            return check is not None and self.forge.outcome(check).value == state and check

        return self.rig.wait(f"the check to be {state}", found)

    def wait_quiet(self):
        """Wait until all that happened was looked at: two polls in which nothing is written."""
        self.forge.flush()

        def polls():
            return len(self.forge.asked(r"GET .*/pulls$"))

        seen = polls()
        self.rig.wait("two polls", lambda: polls() >= seen + 3)

    def writes(self):
        return [each for each in self.forge.requests if each.method != "GET" and "graphql" not in each.path]

    def metric(self, name):
        text = urllib.request.urlopen(self.rig.http + "/metrics", timeout=10).read().decode()
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(name))
