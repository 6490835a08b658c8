"""Where a kind of forge is: its API, its repositories, and which project a repository's URL is of. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, quote, unquote, urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """The addresses of a kind. What a kind does in another way, its subclass says."""

    public: str = ""
    """The API where the configuration has no `api`; empty: it is needed."""
    sites: tuple[str, ...] = ()
    """Hosts that people call the public forge by; `public` is their API."""
    path: str = ""
    """What the address of the API ends with; it is appended where it does not stand there."""
    other_paths: tuple[str, ...] = ()
    """Ends that people write for it."""
    api_host: str = ""
    """What hosts of the API alone begin with: `path` is not appended there, and repositories lie at the rest."""
    hosts: Mapping[str, str] = field(default_factory=dict)
    """Other hosts -> the one in the addresses of repositories."""
    example: str = "https://git.example.org"
    """An `api`, for faults."""
    groups: bool = False
    """Whether a project may lie in groups of groups; else it is `OWNER/NAME`."""
    compare: str = ""
    """The page that opens a pull request, below the address of the repository, with `{base}` and `{branch}`; empty:
    none is known."""
    before: str = ""
    """What the path of a repository may begin with and is not of the project."""

    def api_of(self, given: str) -> str:
        """The address of the API. `given`: as configured, empty where nothing is."""
        host = urlsplit(given).hostname or ""
        if self.public and (not given or host in self.sites):
            return self.public
        if not self.path or given.endswith(self.path) or (self.api_host and host.startswith(self.api_host)):
            return given
        for each in self.other_paths:
            given = given.removesuffix(each)
        return given + self.path

    def problem(self, given: str) -> str:
        """Why the configured `api`, empty where nothing is, cannot be one; empty when it can."""
        return "" if given or self.public else f"needs api, the address of the forge, like {self.example}"

    def web_of(self, api: str) -> SplitResult:
        """The address below which the repositories lie."""
        parts = urlsplit(api)
        given = parts.hostname or ""
        host = given.removeprefix(self.api_host)
        host = self.hosts.get(host, host)
        return parts._replace(netloc=parts.netloc if host == given else host, path=parts.path.removesuffix(self.path))

    def is_host(self, host: str, web: SplitResult) -> bool:
        """Whether the repositories of this address are at a host, too."""
        return self.hosts.get(host.lower(), host.lower()) == (web.hostname or "").lower()

    def project_of(self, path: str, web: SplitResult, *, is_web: bool) -> str:
        """The project of a repository; empty when there is none.

        Args:
            path: of the repository's URL, without slashes around it and without `.git`, quoted.
            web: where the repositories lie.
            is_web: whether the URL is of http or https; one of ssh may leave out the path of `web`.
        """
        prefix = web.path.strip("/")
        if prefix and path.startswith(f"{prefix}/"):
            path = path.removeprefix(f"{prefix}/")
        elif prefix and is_web:
            return ""
        parts = unquote(path.removeprefix(self.before)).split("/")
        enough = len(parts) >= 2 if self.groups else len(parts) == 2
        return "/".join(parts) if enough and all(parts) else ""

    def compare_page(self, web: SplitResult, project: str, base: str, branch: str) -> str:
        """The page on which people open a pull request of a branch; empty where none is known."""
        if not self.compare or not project or not base:
            return ""
        page = self.compare.format(base=quote(base, safe="/"), branch=quote(branch, safe="/"))
        return f"{web.geturl().rstrip('/')}/{quote(project)}/{page}"
