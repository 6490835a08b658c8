"""The configuration file of a controller that is set up anew, with remarks. Pure."""

from __future__ import annotations

from pathlib import Path

import yaml

_HEAD = """\
# Made by `saltern init`. docs/configuration.md names all options; `saltern controller --check` reads this file and says
# what is wrong in it. Files beside it, controller.d/*.conf, are read after it.
"""
_ROOT_DIR = """
# Keys, store, cache and socket lie below.
root_dir: {root}
"""
_REMOTES = """
# States and saltern.yaml (the policy), and pillar: two folders of one repository.
gitfs_remotes:
  - {remote}:
      - root: states
ext_pillar:
  - git:
      - {pillar}:
          - root: pillar
          - env: base
"""
_MORE = """
# A remote on this machine is watched. Others are asked once a minute, unless their forge says when there was a push:
# hook_secret: 'the same text as on the forge'

# Ports of minions, and of the hook, the metrics and the health check.
# ret_port: 4506
# http_host: 127.0.0.1
# http_port: 8765

# Who may do what, beside root and the controller's own user (docs/access.md).
# publisher_acl:
#   alice:
#     - '@viewer'

# Chats, mail and pagers that are told what happens (docs/notifications.md).
# notifications:
#   receivers:
#     ops-chat: {kind: slack, url: {file: /etc/saltern/slack-url}}
"""


def configuration_text(remote: str, root_dir: Path) -> str:
    """The file.

    Args:
        remote: address of the repository, or its path on this machine.
        root_dir: below which everything else lies.
    """
    root = _ROOT_DIR.format(root=_scalar(str(root_dir))) if root_dir != Path("/") else ""
    return _HEAD + root + _REMOTES.format(remote=_scalar(remote), pillar=_scalar(f"main {remote}")) + _MORE


def _scalar(text: str) -> str:
    """Text as YAML has it within a line."""
    return yaml.safe_dump(text, default_style="'", width=10_000).strip()
