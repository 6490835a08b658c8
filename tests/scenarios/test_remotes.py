"""A remote that vanishes, is rewound or holds garbage: the last snapshot stays, an error shows, no hand is needed."""

import re
import shutil
import urllib.request


def errors(rig):
    return [remote["error"] for remote in rig.remotes() if remote["error"]]


def refused(rig):
    """The figure of branches and tags that may not go live."""
    text = urllib.request.urlopen(rig.http + "/metrics").read().decode()
    found = dict(re.findall(r'saltern_git_refs_refused\{remote="([^"]+)"\} (\S+)', text))
    return sum(map(float, found.values()))


def test_vanished_and_back(make_rig):
    rig = make_rig(gitfs_update_interval=1)
    first = rig.push("first")
    rig.wait_applied(first)
    away = rig.remote.with_suffix(".away")
    rig.remote.rename(away)
    rig.wait("the error to show", lambda: errors(rig))
    assert {each["applied_revision"] for each in rig.status().values()} == {first}
    away.rename(rig.remote)
    second = rig.push("second", {"pillar/numbers.sls": ("number: 0", "number: 1")})
    rig.wait_applied(second)
    rig.wait("the error to go", lambda: not errors(rig))


def test_rewound_and_forward_again(make_rig):
    rig = make_rig(gitfs_update_interval=1)
    rig.push("first")
    second = rig.push("second", {"pillar/numbers.sls": ("number: 0", "number: 1")})
    rig.wait_applied(second)
    rig.git("push", "-q", "--force", "origin", "HEAD~1:main")
    (said,) = set(rig.wait("the refusal to show", lambda: errors(rig)))
    assert "set back or force-pushed" in said
    assert refused(rig) == 1
    assert {each["applied_revision"] for each in rig.status().values()} == {second}
    third = rig.push("third", {"pillar/numbers.sls": ("number: 1", "number: 2")})
    rig.wait_applied(third)
    rig.wait("the error to go", lambda: not errors(rig))
    rig.wait("the figure to go", lambda: refused(rig) == 0)


def test_garbage_and_restart_on_the_last_snapshot(make_rig):
    rig = make_rig(gitfs_update_interval=1)
    first = rig.push("first")
    rig.wait_applied(first)
    kept = rig.remote.with_suffix(".kept")
    shutil.copytree(rig.remote, kept)
    for path in rig.remote.rglob("*"):
        if path.is_file():
            path.chmod(0o644)
            path.write_bytes(b"\x00garbage\xff" * 50)
    rig.wait("the error to show", lambda: errors(rig))
    rig.kill("controller", children=True)
    rig.start_controller()
    rig.wait_applied(first)
    shutil.rmtree(rig.remote)
    kept.rename(rig.remote)
    second = rig.push("second", {"pillar/numbers.sls": ("number: 0", "number: 1")})
    rig.wait_applied(second)
