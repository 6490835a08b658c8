"""Where the controller's files are, which the command line asks for without reading the whole configuration."""

from __future__ import annotations

from pathlib import Path

from controller.config.files import read_files

DEFAULT_CONFIG_DIR = Path("/etc/saltern")
DEFAULT_SOCK_DIR = Path("/run/saltern")
_ROOT = Path("/")


def below(root: Path, path: Path) -> Path:
    """Put `root_dir` before a path that was not given below it already."""
    return path if root == _ROOT or path.is_relative_to(root) else root / path.relative_to("/")


def socket_in(sock_dir: Path) -> Path:
    """The controller's socket in its `sock_dir`."""
    return sock_dir / "controller.sock"


def known_socket(config_dir: Path) -> Path | None:
    """The socket of a controller that runs; None where that takes a look at the whole configuration to say.

    `controller.config.settings` takes four times as long to import as all else that a command needs.
    """
    options, faults = read_files(config_dir / "controller", config_dir / "controller.d")
    given = {name: options[name].value for name in ("root_dir", "sock_dir") if name in options}
    if faults or any(not isinstance(value, str) or not value.startswith("/") for value in given.values()):
        return None
    root = Path(given.get("root_dir", _ROOT))
    socket = socket_in(below(root, Path(given.get("sock_dir", DEFAULT_SOCK_DIR))))
    return socket if socket.is_socket() else None
