"""`saltern minion join`: the configuration and the key of a minion, from the line that `saltern init` prints.

Called by the verb. Writes nothing where anything is wrong, and never replaces a configuration.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from minion.config.files import BadMinionSettings
from minion.config.names import is_minion_id
from minion.config.settings import MinionSettings, load_settings
from wire.errors import BadKey
from wire.keys import check_public_key, fingerprint, load_or_create
from wire.probe import probe

TOKEN_FILE = "enrolment_token"  # noqa: S105 - the name of a file
CONNECT_SECONDS = 5.0
"""Until the controller's port counts as not reached."""
_MOST_TOKEN = 256
"""Bytes; the agent shows no more."""


class CannotJoin(Exception):
    """A minion could not be set up; `hint` says what to do."""

    def __init__(self, text: str, hint: str = "", *, unreachable: bool = False) -> None:
        super().__init__(text)
        self.hint = hint
        self.unreachable = unreachable


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinRequest:
    """Which controller a minion joins, and where its files are."""

    controller: str
    """Name or address."""
    port: int
    """The controller's `ret_port`."""
    controller_key: str
    """Public key in Z85."""
    token: str
    """Enrolment token; empty: a person accepts the key."""
    minion_id: str
    """Empty: the name of this host."""
    config_dir: Path
    root_dir: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """A minion that is set up."""

    id: str
    config: Path
    fingerprint: str
    """Of the minion's key, as `saltern key list -v` shows it on the controller."""
    made: bool
    """False: it was set up for this controller before."""


def check_request(request: JoinRequest) -> None:
    """See that the words of the line can be meant. Raises CannotJoin."""
    copy = "copy the whole line that `saltern init` printed, with its quotes"
    try:
        check_public_key(request.controller_key)
    except BadKey as error:
        raise CannotJoin(str(error), copy) from None
    if len(request.token) > _MOST_TOKEN or not request.token.isprintable():
        raise CannotJoin("this is no enrolment token", copy)
    if not request.controller or any(letter in " '\"#" or not letter.isprintable() for letter in request.controller):
        raise CannotJoin(f"{request.controller!r} is no name and no address of a controller", copy)
    if request.minion_id and not is_minion_id(request.minion_id):
        raise CannotJoin(f"{request.minion_id!r} is no id of a minion", "letters, digits and _ . - @ : are allowed")


def check_reachable(request: JoinRequest) -> None:
    """See that a controller listens at the address. Raises CannotJoin."""
    outcome, error = probe(request.controller, request.port, CONNECT_SECONDS)
    if outcome == "curve":
        return
    where = f"{request.controller} port {request.port}"
    text, hint = {
        "unresolved": (f"{request.controller}: {error}", "name an address that this machine knows"),
        "refused": (f"nothing listens at {where}", "start the controller, or say its ret_port: --port"),
        "foreign": (f"what listens at {where} is no controller", "say the controller's ret_port: --port"),
        "plain": (f"a Salt master, or another ZeroMQ program, listens at {where}", "say the controller's: --port"),
    }.get(outcome, (f"{where} is not reached: {error or 'no answer'}", "let its firewall, and those between, pass TCP"))
    raise CannotJoin(text, f"{hint}; --offline writes the files without a look", unreachable=True)


def join(request: JoinRequest) -> Joined:
    """Write the configuration, the token and the key.

    A folder that is set up for the same controller stays as it is but for the token. Raises CannotJoin.
    """
    config = request.config_dir / "minion"
    token_file = request.config_dir / TOKEN_FILE
    made = not config.exists()
    try:
        if made:
            request.config_dir.mkdir(mode=0o755, parents=True, exist_ok=True)
            _write(config, configuration_text(request, token_file))
        settings = load_settings(request.config_dir)
        if not made:
            _check_same(config, settings, request)
        if request.token and settings.enrolment_token_file == token_file:
            _write(token_file, request.token + "\n", replace=True)
        keys = load_or_create(settings.pki_dir / "minion.key")
    except (BadMinionSettings, BadKey) as error:
        raise CannotJoin(str(error), f"mend it, or move {config} away, and run this again") from None
    except OSError as error:
        hint = "run this as root, or name folders of your own by -c and --root-dir"
        raise CannotJoin(f"{error.filename or config}: {error.strerror}", hint) from None
    return Joined(id=settings.id, config=config, fingerprint=fingerprint(keys.public), made=made)


def configuration_text(request: JoinRequest, token_file: Path) -> str:
    """The minion's configuration file."""
    lines = [
        "# Made by `saltern minion join`. docs/configuration.md names all options; after a change: restart the minion.",
        *([f"id: {request.minion_id}"] if request.minion_id else []),
        "",
        "# The controller, and the key by which this minion knows it.",
        f"master: '{request.controller}'",
        *([f"master_port: {request.port}"] if request.port != 4506 else []),
        f"controller_key: '{request.controller_key}'",
    ]
    if request.token:
        lines += [
            "",
            "# Has the controller accept this minion's key; the file may be removed once it has.",
            f"enrolment_token_file: {token_file}",
        ]
    if request.root_dir != Path("/"):
        lines += ["", "# Keys and cache lie below.", f"root_dir: {request.root_dir}"]
    return "\n".join(lines) + "\n"


def _check_same(config: Path, settings: MinionSettings, request: JoinRequest) -> None:
    key = settings.controller_key.get(request.controller) or settings.controller_key.get("")
    if request.controller in settings.master and key == request.controller_key:
        return
    others = ", ".join(settings.master) or "no controller"
    if request.controller in settings.master:
        text, hint = (
            f"{config} has another key of {request.controller}",
            "if the controller was made anew, write controller_key there by hand",
        )
    else:
        text, hint = f"{config} is there already, and names {others}", "change `master` there by hand, or move it away"
    raise CannotJoin(text, hint)


def _write(path: Path, text: str, *, replace: bool = False) -> None:
    """Write a file that its owner alone may read, as a whole."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(handle)
        if replace:
            draft.replace(path)
        else:
            os.link(draft, path)  # unlike a rename, never replaces what is there
    finally:
        with contextlib.suppress(FileNotFoundError):
            draft.unlink()
