"""Rosters: which machines are reached over ssh, and how. Read in a thread: a roster is a file, a program or the store.

Kinds are Salt's: `flat` (a template of YAML), `ansible` (an inventory, by ansible-inventory as in Salt), `cache`
(minions that were seen before, at the addresses that they had) and `sshconfig` (hosts of an ssh_config).
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from controller.config.ssh import SshSettings
from controller.ssh.target import BadRoster, SshTarget, target_of
from highstate.render.yaml.loader import load_yaml

_MOST_BYTES = 16 * 1024 * 1024
_ANSIBLE_SECONDS = 60.0
_ANSIBLE = {
    "ansible_host": "host",
    "ansible_port": "port",
    "ansible_user": "user",
    "ansible_ssh_pass": "passwd",
    "ansible_password": "passwd",
    "ansible_ssh_private_key_file": "priv",
    "ansible_become": "sudo",
    "ansible_become_user": "sudo_user",
}
"""Variable -> field of an entry; Salt's names of the first six, and what sudo is there."""
_SSH_CONFIG = {"hostname": "host", "port": "port", "user": "user", "identityfile": "priv"}

KnownMinions = Callable[[], Iterable[tuple[str, Mapping[str, Any]]]]
"""Gives ids and grains of the minions that were seen before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rosters:
    """Reads the roster of the configuration.

    Args:
        settings: which one, and its defaults.
        config_dir: where the file is when the settings name none.
        known: see `KnownMinions`.
    """

    settings: SshSettings
    config_dir: Path
    known: KnownMinions

    def read(self, kind: str = "", text: str | None = None) -> dict[str, SshTarget]:
        """All targets by id. BadRoster: it cannot be used.

        Args:
            kind: in place of the configured one.
            text: of a flat roster that somebody gives, in place of a file.
        """
        kind = kind or self.settings.roster
        path = Path(self.settings.roster_file or self.config_dir / "roster")
        match kind:
            case "flat":
                entries = _flat(text if text is not None else _text_of(path), str(path))
            case "ansible":
                entries = _ansible(path)
            case "sshconfig":
                own = self.settings.roster_file or str(Path.home() / ".ssh" / "config")
                entries = _ssh_config(_text_of(Path(own)))
            case "cache":
                entries = {minion: {"host": host} for minion, grains in self.known() if (host := _address(grains))}
            case _:
                raise BadRoster(f"there is no roster {kind!r}: flat, ansible, cache and sshconfig there are")
        defaults = self.settings.entry_defaults()
        return {minion: target_of(minion, entry, defaults, str(path)) for minion, entry in entries.items()}


def _text_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        hint = "it names machines: `web1: {host: 192.0.2.7}` (docs/ssh.md)"
        raise BadRoster(f"the roster cannot be read: {error.strerror}: {path}; {hint}") from error
    if len(data) > _MOST_BYTES:
        raise BadRoster(f"{path}: a roster has {_MOST_BYTES} bytes at most")
    return data.decode("utf-8", "replace")


def _flat(text: str, place: str) -> dict[str, Any]:
    """A template that makes YAML; a first line `#!jinja|yaml` says no more than that."""
    # Here, and not above: Jinja is some MiB of a controller that visits nobody.
    import jinja2
    from jinja2.sandbox import SandboxedEnvironment

    try:
        rendered = SandboxedEnvironment(undefined=jinja2.StrictUndefined).from_string(text).render()
        found = load_yaml(rendered) or {}
    except jinja2.TemplateError as error:
        line = f":{error.lineno}" if isinstance(error, jinja2.TemplateSyntaxError) else ""
        raise BadRoster(f"{place}{line}: {error}") from error
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark is not None else ""
        raise BadRoster(f"{place}{line}: {getattr(error, 'problem', None) or error}") from error
    if not isinstance(found, dict):
        raise BadRoster(f"{place}: a roster is a mapping of ids to machines")
    return {str(name): entry for name, entry in found.items()}


def _ansible(path: Path) -> dict[str, Any]:
    if not path.exists():  # ansible-inventory warns, and lists nobody
        raise BadRoster(f"{path}: there is no such inventory; `roster_file` names it")
    command = ["ansible-inventory", "-i", str(path), "--list", "--export"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_ANSIBLE_SECONDS, check=False)
    except FileNotFoundError:
        hint = "install ansible-core, or write a flat roster"
        raise BadRoster(f"the roster ansible needs the program ansible-inventory: {hint}") from None
    except subprocess.TimeoutExpired:
        raise BadRoster(f"{path}: ansible-inventory does not end within {_ANSIBLE_SECONDS:g} s") from None
    if done.returncode:
        raise BadRoster(f"{path}: ansible-inventory: {done.stderr.decode(errors='replace').strip()[-500:]}")
    return ansible_entries(json.loads(done.stdout))


def ansible_entries(inventory: Mapping[str, Any]) -> dict[str, Any]:
    """Entries of what ansible-inventory lists; variables of a group count for its hosts, those of `all` the least."""
    entries: dict[str, dict[str, Any]] = {}
    variables = inventory.get("_meta", {}).get("hostvars", {})

    def visit(group: str, above: Mapping[str, Any], path: tuple[str, ...]) -> None:
        found = inventory.get(group)
        if not isinstance(found, Mapping) or group in path:
            return
        inherited = {**above, **found.get("vars", {})}
        for host in found.get("hosts", ()):
            entries[host] = {**entries.get(host, {}), **inherited}
        for child in found.get("children", ()):
            visit(child, inherited, (*path, group))

    visit("all", {}, ())
    found: dict[str, Any] = {}
    for host, inherited in entries.items():
        said = {**inherited, **variables.get(host, {})}
        entry = {field: said[name] for name, field in _ANSIBLE.items() if said.get(name) not in (None, "")}
        found[host] = {"host": host, **entry}
    return found


def _ssh_config(text: str) -> dict[str, Any]:
    """Hosts of an ssh_config that are no patterns."""
    entries: dict[str, dict[str, Any]] = {}
    names: list[str] = []
    for line in text.splitlines():
        word, _, value = line.strip().replace("=", " ", 1).partition(" ")
        value = value.strip().strip('"')
        if word.lower() == "host":
            names = [name for name in value.split() if not set(name) & set("*?!")]
            entries |= {name: {"host": name} for name in names}
        elif (field := _SSH_CONFIG.get(word.lower())) and value:
            for name in names:
                if field not in entries[name] or field == "host":
                    entries[name][field] = str(Path(value).expanduser()) if field == "priv" else value
    return entries


def _address(grains: Mapping[str, Any]) -> str:
    """Where a minion was: an address that others reach, else its name."""
    addresses = [str(each) for each in grains.get("ipv4", ()) or ()]
    found = next((each for each in addresses if not each.startswith(("127.", "169.254."))), "")
    return found or str(grains.get("fqdn") or "")
