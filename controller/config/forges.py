"""The option `forges`: the forges whose pull requests are previewed, our access to them, and whose remotes are whose.

Read by `controller.config.settings`, used by `controller.pull_requests`, `controller.forges.clients` and
`saltern forge`. Nothing here opens a connection. Secrets are never shown: neither by `repr` nor in a fault.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, TypeAlias, get_args
from urllib.parse import SplitResult, unquote, urlsplit

from gitfs.config.credentials import AskVault, SecretFrom, parse_secret, withhold
from gitfs.config.urls import canonical
from options.convert import Unwanted, convert_value, kinds_of
from options.document import Fault, Inside, Option
from options.kinds import Folder, OptionText, Prepare, Seconds, Wanted
from options.near_names import did_you_mean

ForgeKind: TypeAlias = Literal["github", "gitlab", "gitea", "bitbucket", "bitbucket-datacenter", "azure-devops"]
"""`gitea` is Forgejo, too."""

_DEFAULT_API: Mapping[str, str] = {
    "github": "https://api.github.com",
    "gitlab": "https://gitlab.com/api/v4",
    "bitbucket": "https://api.bitbucket.org/2.0",
}
_API_PATH: Mapping[str, str] = {
    "github": "/api/v3",
    "gitlab": "/api/v4",
    "gitea": "/api/v1",
    "bitbucket": "/2.0",
    "bitbucket-datacenter": "/rest",
}
"""What the API's address ends with; it is appended where it does not stand there."""
_PUBLIC_HOSTS: Mapping[str, str] = {
    "api.github.com": "github.com",
    "ssh.github.com": "github.com",
    "api.bitbucket.org": "bitbucket.org",
    "altssh.bitbucket.org": "bitbucket.org",
    "altssh.gitlab.com": "gitlab.com",
    "ssh.dev.azure.com": "dev.azure.com",
}
"""Other hosts of a forge -> the one in the addresses of its repositories."""

ForgeSecret: TypeAlias = str | SecretFrom
"""A secret, or where it stands."""


def _secret(value: Any) -> Any:
    if value == "":
        raise ValueError("no empty text")
    return parse_secret(value)


def _address(value: Any) -> Any:
    """An https address; http on this machine alone, because the token goes with each request."""
    if not isinstance(value, str):
        raise ValueError
    try:
        parts = urlsplit(value)
        port_is_valid = parts.port is None or parts.port > 0
    except ValueError:
        raise ValueError from None
    if (
        not parts.hostname
        or not port_is_valid
        or parts.query
        or parts.fragment
        or parts.scheme not in ("https", "http")
    ):
        raise ValueError
    if parts.username is not None:
        raise ValueError("an address without user and password, which stand in `user` and `token`")
    if parts.scheme == "http" and not _is_this_machine(parts.hostname):
        raise ValueError("an https address, because the token goes with each request")
    return value.rstrip("/")


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _projects(value: Any) -> Any:
    if not isinstance(value, Mapping) or not all(isinstance(each, str) and each.strip("/") for each in value.values()):
        raise ValueError
    return {remote: project.strip("/") for remote, project in value.items()}


SecretText: TypeAlias = Annotated[ForgeSecret, Prepare(_secret)]
ForgeAddress: TypeAlias = Annotated[
    str, Wanted("the https address of the forge's API, like `https://git.example.org/api/v1`"), Prepare(_address)
]
ForgeProjects: TypeAlias = Annotated[
    Mapping[str, str],
    Wanted("a mapping of remotes (name or URL) to the forge's projects, like `states: org/states`"),
    Prepare(_projects),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewDefaults:
    """What holds for the trees of a forge whose saltern.yaml says nothing of it: keys of `previews` there.

    The rules that a change is checked by stand in saltern.yaml alone.
    """

    strangers: Literal["none", "restricted"] = "none"
    comment: Literal["update", "new", "hide-and-new"] = "update"
    drafts: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeSettings:
    """One forge."""

    name: OptionText
    """How commands, logs and metrics call it."""
    kind: ForgeKind
    api: ForgeAddress = ""
    """Address of its API, with the path that the forge needs."""
    token: SecretText = field(default="", repr=False)
    user: OptionText = ""
    """Where the token goes with a user's name (API tokens of Bitbucket Cloud: the e-mail address)."""
    app_id: OptionText = ""
    """Of a GitHub App; then there is a private key instead of a token."""
    private_key: SecretText = field(default="", repr=False)
    """PEM."""
    installation_id: OptionText = ""
    """Of the App; empty: asked of the forge for each project."""
    ca_file: Folder = ""
    """Certificates of the authorities that the forge's certificate is checked with; empty: those of the system."""
    projects: ForgeProjects = field(default_factory=dict)
    """Remote (name or URL) -> project, where it does not follow from the remote's URL."""
    poll_interval: Seconds = 60.0
    previews: Mapping[str, Any] = field(default_factory=dict)
    """Those of `PreviewDefaults` that are set."""
    place: str = field(default="", compare=False)
    """`file:line`."""

    @property
    def web(self) -> SplitResult:
        """Address below which the repositories lie."""
        parts = urlsplit(self.api)
        host = parts.hostname or ""
        if self.kind == "github" and host.startswith("api."):
            host = host.removeprefix("api.")
        path = parts.path.removesuffix(_API_PATH.get(self.kind, ""))
        return parts._replace(netloc=_PUBLIC_HOSTS.get(host, host), path=path)


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
    return tuple(
        replace(each, token=withhold(each.token, ask), private_key=withhold(each.private_key, ask)) for each in forges
    )


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
    host, _, path = canonical(url).partition("/")
    web = forge.web
    ours = (web.hostname or "").lower()
    if _PUBLIC_HOSTS.get(host.lower(), host.lower()) != ours and not _is_old_azure(forge, host):
        return ""
    prefix = web.path.strip("/")
    is_web = urlsplit(url).scheme in ("http", "https")
    if forge.kind == "azure-devops":
        return _azure_project(path, prefix)
    if prefix and path.startswith(f"{prefix}/"):
        path = path.removeprefix(f"{prefix}/")
    elif prefix and is_web:
        return ""
    if forge.kind == "bitbucket-datacenter":
        path = path.removeprefix("scm/")
    parts = unquote(path).split("/")
    enough = len(parts) >= 2 if forge.kind == "gitlab" else len(parts) == 2
    return "/".join(parts) if enough and all(parts) else ""


def _is_old_azure(forge: ForgeSettings, host: str) -> bool:
    """`ORG.visualstudio.com`, the address that organisations had before `dev.azure.com/ORG`."""
    organisation = forge.web.path.strip("/").lower()
    known = (f"{organisation}.visualstudio.com", "vs-ssh.visualstudio.com")
    return forge.kind == "azure-devops" and forge.web.hostname == "dev.azure.com" and host.lower() in known


def _azure_project(path: str, organisation: str) -> str:
    """`project/repository`: of `[ORG/]PROJECT/_git/REPO`, `ORG/_git/REPO` and `v3/ORG/PROJECT/REPO`."""
    parts = unquote(path).split("/")
    inside = unquote(organisation).split("/") if organisation else []
    if parts[0] == "v3":
        parts = [*parts[1:-1], "_git", parts[-1]]
    if [each.lower() for each in parts[: len(inside)]] == [each.lower() for each in inside]:
        parts = parts[len(inside) :]
    parts = [each for each in parts if each != "DefaultCollection"]
    match parts:
        case ["_git", repository] if repository:
            return f"{repository}/{repository}"
        case [project, "_git", repository] if project and repository:
            return f"{project}/{repository}"
    return ""


def _explicit(forge: ForgeSettings, name: str, url: str) -> str:
    named = forge.projects.get(name, "")
    return named or next((project for key, project in forge.projects.items() if canonical(key) == canonical(url)), "")


_KINDS = {name: kind for name, kind in kinds_of(ForgeSettings).items() if name not in ("place", "previews")}
_KNOWN = (*_KINDS, "previews")
_SECRETS = ("token", "private_key")
_DEFAULTS = kinds_of(PreviewDefaults)


def _forge(option: Option, number: int, faults: list[Fault]) -> ForgeSettings | None:
    given = option.value[number]
    place = option.at((number, "name"))
    if not isinstance(given, Mapping):
        faults.append(
            Fault(option.at((number,)), "forges: each entry must be a mapping with `name`, `kind` and a token")
        )
        return None
    before = len(faults)
    where = f"forges: {given['name']}" if isinstance(given.get("name"), str) else f"forges[{number}]"
    values = _values(option, (number,), _KINDS, where, faults, known=_KNOWN)
    if "previews" in given:
        values["previews"] = _values(option, (number, "previews"), _DEFAULTS, f"{where}: previews", faults)
    if len(faults) == before:
        faults += [Fault(option.at((number,)), f"{where}: {text}") for text in _lacking(values)]
    if len(faults) > before:
        return None
    return ForgeSettings(**{**values, "api": _api(values), "place": place})


def _values(
    option: Option,
    inside: Inside,
    kinds: Mapping[str, Any],
    where: str,
    faults: list[Fault],
    *,
    known: Sequence[str] = (),
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
        if name not in (known or kinds):
            hint = did_you_mean(str(name), known or kinds) or f"there are {', '.join(known or kinds)}"
            faults.append(Fault(option.at((*inside, str(name))), f"{where}: there is no {name!r}", hint))
        elif name in kinds:
            try:
                found[name] = convert_value(each, kinds[name])
            except Unwanted as error:
                shown = "" if name in _SECRETS else f", not {each!r}"
                faults.append(Fault(option.at((*inside, name)), f"{where}: {name} must be {error.wanted}{shown}"))
    return found


def _lacking(values: Mapping[str, Any]) -> Iterator[str]:
    """What a forge needs beside what is given, and what does not go together."""
    if missing := [name for name in ("name", "kind") if name not in values]:
        yield f"needs {' and '.join(missing)}; kinds are {', '.join(get_args(ForgeKind))}"
        return
    kind, is_app = values["kind"], "app_id" in values or "private_key" in values
    if kind not in _DEFAULT_API and "api" not in values:
        example = "https://dev.azure.com/ORGANISATION" if kind == "azure-devops" else "https://git.example.org"
        yield f"needs api, the address of the forge, like {example}"
    if kind == "azure-devops" and values.get("api") == "https://dev.azure.com":
        yield "api needs the organisation, like https://dev.azure.com/ORGANISATION"
    if is_app and kind != "github":
        yield "app_id and private_key are of GitHub Apps; this kind needs token"
    elif is_app and ("app_id" not in values or "private_key" not in values):
        yield "a GitHub App needs both app_id and private_key ({file: /path/of/the.pem})"
    elif is_app == ("token" in values):
        yield (
            "has token and app_id; remove one"
            if is_app
            else "needs token ({file: /path}, {env: NAME}, {vault: …})"
            + (", or app_id and private_key of a GitHub App" if kind == "github" else "")
        )
    if problem := _authority_problem(values.get("ca_file", "")):
        yield problem
    if "installation_id" in values and not is_app:
        yield "installation_id goes with app_id"


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


def _api(values: Mapping[str, Any]) -> str:
    kind = values["kind"]
    api: str = values.get("api") or _DEFAULT_API[kind]
    path = _API_PATH.get(kind, "")
    host = urlsplit(api).hostname or ""
    if kind == "github" and host in ("github.com", "www.github.com"):
        return _DEFAULT_API["github"]
    if kind == "bitbucket" and host == "bitbucket.org":
        return _DEFAULT_API["bitbucket"]
    if not path or api.endswith(path) or (kind == "github" and host.startswith("api.")):
        return api
    return api.removesuffix("/rest/api/1.0").removesuffix("/rest/api/latest") + path
