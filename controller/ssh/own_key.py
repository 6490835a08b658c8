"""The controller's own key pair for ssh, with the name that Salt has for it. Called in a thread."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from controller.ssh.target import BadRoster


def own_key(folder: Path) -> Path:
    """The private key; a pair is made where there is none. BadRoster: ssh-keygen is not there, or does not do it.

    `folder`: `pki_dir/ssh`, made for the controller alone.
    """
    path = folder / "salt-ssh.rsa"
    if path.exists():
        return path
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    command = ["ssh-keygen", "-q", "-t", "rsa", "-b", "3072", "-N", "", "-C", "saltern-ssh", "-f", str(path)]
    try:
        subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        raise BadRoster(f"no key pair could be made in {folder}: {error}; install openssh-client") from error
    owned_as_above(folder, path, path.with_suffix(".rsa.pub"))
    return path


def owned_as_above(folder: Path, *files: Path) -> None:
    """Give what root has made to whom the folder above belongs: the controller's own user, who is to use it, too."""
    if os.geteuid() == 0:
        above = folder.parent.stat()
        for each in (folder, *files):
            os.chown(each, above.st_uid, above.st_gid, follow_symlinks=False)
