"""Options of Salt's programs that all of them take in one way, before each reads its own.

Those that mean nothing here are taken out and told with the reason: the table is
`controller.cli.salt_options.WITHOUT_MEANING`. `--version`,
`--args-stdin`, `--no-parse` and `--config-dump` do what they do in Salt; of `salt-key` and `salt-cp`, whose other words
are those of `saltern`, also credentials and the options of output and log.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import click

from controller.cli.salt_options import WITHOUT_MEANING
from minion.call.outputters.as_json import as_json
from saltern.client import client_config
from saltern.client.connection import Connection
from saltern.salt_names.configurations import own_path

_OWN_OF = {"salt-call": ("--hard-crash", "--no-parse", "--args-stdin")}
"""Options of a program that are in the tables here and that it reads by itself."""
_PLAIN_ONLY = ("salt-key", "salt-cp")
_OUTPUT = {
    **dict.fromkeys(("--no-color", "--no-colour", "--force-color", "--force-colour"), False),
    **dict.fromkeys(("--state-output", "--state_output", "--state-verbose", "--state_verbose"), True),
    **dict.fromkeys(("--log-level", "--log-file", "--log-file-level"), True),
}
"""Of programs whose output has no states: option -> whether a value follows."""
_CREDENTIALS = {
    **dict.fromkeys(("--auth", "--eauth", "--external-auth"), "eauth"),
    "--username": "username",
    "--password": "password",
}


def common_words(program: str, words: Sequence[str]) -> list[str]:
    """The words without the options that are served here."""
    if _has(words, "--version", "-V", "--versions-report"):
        _tell_versions(program, more=_has(words, "-V", "--versions-report"))
        raise SystemExit(0)
    found = _Words(program, words)
    if "--args-stdin" in found.taken:
        found.rest += [line.rstrip("\n") for line in sys.stdin if line.strip()]
    if names := found.taken.get("--no-parse"):
        found.rest = [_as_text(word, names.split(",")) for word in found.rest]
    if "--config-dump" in found.taken:
        click.echo(as_json(client_config(own_path(_config_dir(found.rest))), 4))
        raise SystemExit(0)
    credentials = {own: found.taken[name] for name, own in _CREDENTIALS.items() if name in found.taken}
    if credentials:
        opts = client_config(own_path(_config_dir(found.rest)))
        os.environ["SALTERN_TOKEN"] = Connection(opts).of({"eauth": "pam"} | credentials).token or ""
    if _has(found.taken, "--no-color", "--no-colour"):
        os.environ["NO_COLOR"] = "1"
    if path := found.taken.get("--out-file", found.taken.get("--output-file", "")):
        append = _has(found.taken, "--out-file-append", "--output-file-append")
        sys.stdout = Path(path).open("a" if append else "w")  # noqa: SIM115  (the process writes until it ends)
    return found.rest


class _Words:
    """Words of a command line: those that are served here, and the rest."""

    def __init__(self, program: str, words: Sequence[str]) -> None:
        self.taken: dict[str, str] = {}
        self.rest: list[str] = []
        served = self._served(program)
        waiting = list(words)
        while waiting:
            word = waiting.pop(0)
            if word == "--":
                self.rest += [word, *waiting]
                return
            name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
            if name not in served:
                self.rest.append(word)
                continue
            if served[name] and not equals:
                if not waiting:
                    raise click.UsageError(f"Option '{name}' requires an argument.")
                value = waiting.pop(0)
            self.taken[name] = value
            if name in WITHOUT_MEANING:
                click.echo(f"{name} means nothing here: {WITHOUT_MEANING[name][1]}", err=True)

    @staticmethod
    def _served(program: str) -> dict[str, bool]:
        served = {name: takes for name, (takes, _) in WITHOUT_MEANING.items()}
        served |= {"--args-stdin": False, "--no-parse": True}
        if program == "salt":
            served["--config-dump"] = False
        if program in _PLAIN_ONLY:
            served |= _OUTPUT | dict.fromkeys(_CREDENTIALS, True)
            served |= {"--out-file": True, "--output-file": True}
            served |= {"--out-file-append": False, "--output-file-append": False}
        if program == "salt-call":
            served["-r"] = False
        return {name: takes for name, takes in served.items() if name not in _OWN_OF.get(program, ())}


def _has(words: Sequence[str] | dict[str, str], *names: str) -> bool:
    """Whether one of these options is given, before a `--`."""
    given = list(words)
    return any(name in (given[: given.index("--")] if "--" in given else given) for name in names)


def _config_dir(words: Sequence[str]) -> str:
    for at, word in enumerate(words):
        if word in ("-c", "--config-dir") and at + 1 < len(words):
            return words[at + 1]
        if word.startswith("--config-dir="):
            return word.partition("=")[2]
    return ""


def _as_text(word: str, names: Sequence[str]) -> str:
    """`name=value` of these names, with a value that YAML reads as the text that it is."""
    name, equals, value = word.partition("=")
    return f"{name}={json.dumps(value)}" if equals and name in names else word


def _tell_versions(program: str, *, more: bool) -> None:
    click.echo(f"{program} (Saltern {metadata.version('saltern')})")
    if more:
        click.echo(f"Python: {platform.python_version()}")
        for name in ("click", "Jinja2", "msgspec", "PyYAML", "pyzmq"):
            click.echo(f"{name}: {metadata.version(name)}")
        click.echo(f"system: {platform.platform()}")
