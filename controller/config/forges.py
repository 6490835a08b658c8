"""The option `forges`: the forges whose pull requests are previewed, our access to them, and whose remotes are whose.

Read by `controller.config.settings`, used by the composition root and `saltern forge`. What a kind of forge has
of its own is in `controller.forges.kinds`. Nothing here opens a connection, and no fault shows a secret.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import urlsplit

from controller.forges.kind_names import KINDS
from controller.forges.registry import all_forges, forge_of
from controller.forges.settings import ForgeOptions, ForgeSettings, SecretText
from gitfs.config.credentials import AskVault, withhold
from gitfs.config.urls import canonical
from options.convert import Unwanted, convert_value, kinds_of
from options.document import Fault, Inside, Option
from options.near_names import did_you_mean


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewDefaults:
    """What holds for the trees of a forge whose saltern.yaml says nothing of it: keys of `previews` there.

    The rules that a change is checked by stand in saltern.yaml alone.
    """

    strangers: Literal["none", "restricted"] = "none"
    comment: Literal["update", "new", "hide-and-new"] = "update"
    drafts: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeProject:
    """A project of a forge, and the remotes that are its repository."""

    forge: str
    project: str
    remotes: tuple[str, ...]
    """Names."""


def read_forges(option: Option | None, faults: list[Fault]) -> tuple[ForgeSettings, ...]:
    """The forges of the option `forges`, in order; what is wrong is appended to `faults`."""
    if option is None:
        return ()
    if not isinstance(option.value, list):
        faults.append(Fault(option.place, "forges must be a list of forges, each with `name`, `kind` and a token"))
        return ()
    found = [_forge(option, number, faults) for number in range(len(option.value))]
    forges = [each for each in found if each is not None]
    for number, each in enumerate(forges):
        if each.name in (earlier.name for earlier in forges[:number]):
            faults.append(Fault(each.place, f"forges: there is another forge {each.name!r}; give one of them another"))
    return tuple(forges)


def withhold_secrets(forges: Sequence[ForgeSettings], ask: AskVault | None) -> tuple[ForgeSettings, ...]:
    """The forges with secrets that can be revealed; those of the environment are taken out of it."""
    return tuple(replace(each, token=withhold(each.token, ask), own=_withheld(each.own, ask)) for each in forges)


def _withheld(own: ForgeOptions, ask: AskVault | None) -> ForgeOptions:
    secrets = [name for name, kind in kinds_of(type(own)).items() if kind == SecretText]
    return replace(own, **{name: withhold(getattr(own, name), ask) for name in secrets})


def projects_of(forges: Sequence[ForgeSettings], remotes: Mapping[str, str]) -> tuple[ForgeProject, ...]:
    """Which remotes are repositories of which projects. A remote that `projects` names belongs there and nowhere else.

    Args:
        forges: as configured.
        remotes: name -> URL.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for name, url in remotes.items():
        explicit = ((each.name, project) for each in forges if (project := _explicit(each, name, url)))
        derived = ((each.name, project) for each in forges if (project := project_of(each, url)))
        belongs = next(explicit, None) or next(derived, None)
        if belongs is not None:
            found.setdefault(belongs, []).append(name)
    return tuple(
        ForgeProject(forge=forge, project=project, remotes=tuple(sorted(names)))
        for (forge, project), names in found.items()
    )


def unknown_remotes(forges: Sequence[ForgeSettings], remotes: Mapping[str, str]) -> Iterator[Fault]:
    """A fault for each remote in a forge's `projects` that there is not. `remotes`: name -> URL."""
    known = {*remotes, *(canonical(url) for url in remotes.values())}
    for forge in forges:
        for remote in forge.projects:
            if remote not in known and canonical(remote) not in known:
                hint = did_you_mean(remote, remotes) or f"there are {', '.join(remotes) or 'none'}"
                yield Fault(forge.place, f"forges: {forge.name}: projects: there is no remote {remote!r}", hint)


def project_of(forge: ForgeSettings, url: str) -> str:
    """The project of a remote by its URL; empty when the URL is not of this forge."""
    addresses = forge_of(forge.kind).addresses
    host, _, path = canonical(url).partition("/")
    web = addresses.web_of(forge.api)
    if not addresses.is_host(host, web):
        return ""
    return addresses.project_of(path, web, is_web=urlsplit(url).scheme in ("http", "https"))


def _explicit(forge: ForgeSettings, name: str, url: str) -> str:
    named = forge.projects.get(name, "")
    return named or next((project for key, project in forge.projects.items() if canonical(key) == canonical(url)), "")


_NOT_OPTIONS = ("place", "own")
_COMMON = {name: kind for name, kind in kinds_of(ForgeSettings).items() if name not in _NOT_OPTIONS}
_DEFAULTS = kinds_of(PreviewDefaults)


def _forge(option: Option, number: int, faults: list[Fault]) -> ForgeSettings | None:
    given = option.value[number]
    if not isinstance(given, Mapping):
        faults.append(
            Fault(option.at((number,)), "forges: each entry must be a mapping with `name`, `kind` and a token")
        )
        return None
    before = len(faults)
    where = f"forges: {given['name']}" if isinstance(given.get("name"), str) else f"forges[{number}]"
    kinds = _own_kinds(given.get("kind"))
    values = _values(option, (number,), {**_COMMON, **kinds}, where, faults)
    if "previews" in given:
        values["previews"] = _values(option, (number, "previews"), _DEFAULTS, f"{where}: previews", faults)
    if len(faults) == before:
        faults += [Fault(option.at((number,)), f"{where}: {text}") for text in _lacking(values)]
    if len(faults) > before:
        return None
    forge = forge_of(values["kind"])
    own = forge.options(**{name: values.pop(name) for name in kinds if name in values})
    api = forge.addresses.api_of(values.pop("api", ""))
    return ForgeSettings(**values, api=api, own=own, place=option.at((number, "name")))


def _own_kinds(kind: object) -> Mapping[str, Any]:
    """The options that a kind has beside those of all; of a kind that there is not, those of every kind."""
    if kind in KINDS:
        return kinds_of(forge_of(str(kind)).options)
    return {name: each for forge in all_forges().values() for name, each in kinds_of(forge.options).items()}


def _values(
    option: Option, inside: Inside, kinds: Mapping[str, Any], where: str, faults: list[Fault]
) -> dict[str, Any]:
    """The entries of a mapping in the option, each as its type; faults are appended, with the place of the value."""
    value: Any = option.value
    for step in inside:
        value = value[step]
    if not isinstance(value, Mapping):
        faults.append(Fault(option.at(inside), f"{where} must be a mapping of {', '.join(kinds)}"))
        return {}
    found = {}
    for name, each in value.items():
        if name not in kinds:
            faults.append(Fault(option.at((*inside, str(name))), f"{where}: there is no {name!r}", _hint(name, kinds)))
        elif name != "previews":
            try:
                found[name] = convert_value(each, kinds[name])
            except Unwanted as error:
                shown = "" if kinds[name] == SecretText else f", not {each!r}"
                faults.append(Fault(option.at((*inside, name)), f"{where}: {name} must be {error.wanted}{shown}"))
    return found


def _hint(name: object, known: Mapping[str, Any]) -> str:
    """What to write instead of an option that there is not."""
    others = [kind for kind, forge in all_forges().items() if name in kinds_of(forge.options)]
    if others:
        return f"it is an option of the kind {' and '.join(others)}"
    return did_you_mean(str(name), known) or f"there are {', '.join(known)}"


def _lacking(values: Mapping[str, Any]) -> Iterator[str]:
    """What a forge needs beside what is given, and what does not go together."""
    if missing := [name for name in ("name", "kind") if name not in values]:
        yield f"needs {' and '.join(missing)}; kinds are {', '.join(KINDS)}"
        return
    forge = forge_of(values["kind"])
    own = forge.options(**{name: values[name] for name in kinds_of(forge.options) if name in values})
    if problem := forge.addresses.problem(values.get("api", "")):
        yield problem
    if own.give_access and "token" in values:
        yield f"has a token, and {forge.other_access}; remove one"
    elif not own.give_access and "token" not in values:
        yield "needs token ({file: /path}, {env: NAME}, {vault: …})" + (
            f", or {forge.other_access}" if forge.other_access else ""
        )
    if problem := _authority_problem(values.get("ca_file", "")):
        yield problem
    yield from own.problems()


def _authority_problem(path: str) -> str:
    """Why the file of authorities cannot be used; empty when it can, or there is none."""
    if not path:
        return ""
    import ssl  # start time of commands that reach no forge

    try:
        ssl.create_default_context(cafile=path)
    except ssl.SSLError:
        return f"ca_file {path} has no certificates (PEM)"
    except OSError as error:
        return f"ca_file {path} cannot be read: {error.strerror}"
    return ""


def compare_page(forges: Sequence[ForgeSettings], name: str, url: str, base: str, branch: str) -> str:
    """The page on which people open a pull request of a branch; empty where the forge of the remote is not known.

    Args:
        forges: as configured; public ones are known without.
        name: of the remote.
        url: of the remote.
        base: branch that it is for.
        branch: its own name.
    """
    for each in forges:
        if project := _explicit(each, name, url) or project_of(each, url):
            addresses = forge_of(each.kind).addresses
            return addresses.compare_page(addresses.web_of(each.api), project, base, branch)
    host, _, path = canonical(url).partition("/")
    for known in all_forges().values():
        web = known.addresses.web_of(known.addresses.public)
        if known.addresses.public and known.addresses.is_host(host, web):
            project = known.addresses.project_of(path, web, is_web=urlsplit(url).scheme in ("http", "https"))
            return known.addresses.compare_page(web, project, base, branch)
    return ""
