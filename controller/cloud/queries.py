"""Questions to all accounts of a configuration at once, each in a thread of its own, and machines by their names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

from controller.cloud.accounts.account import Account, CloudMachine
from controller.cloud.accounts.accounts import account_of
from controller.cloud.configuration import CloudConfiguration, CloudProvider
from controller.cloud.errors import CloudFailed

_Answer = TypeVar("_Answer")
_AT_ONCE = 10
QueryKind: TypeAlias = Literal["query", "full", "select"]
ByProvider: TypeAlias = dict[str, dict[str, Any]]
"""Provider -> driver -> what it says, as Salt prints it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundMachine:
    """A machine, and the account that has it."""

    provider: CloudProvider
    account: Account
    machine: CloudMachine


def list_machines(
    configuration: CloudConfiguration, kind: QueryKind = "query", names: Collection[str] | None = None
) -> ByProvider:
    """All machines of all accounts; CloudFailed when one of them does not answer.

    Args:
        configuration: with the accounts.
        kind: `query`: what each machine has; `full`: all that the cloud says; `select`: what `query.selection` names.
        names: those alone; None: all.
    """
    selection = configuration.options.get("query.selection") or ["id"]

    def shown(machine: CloudMachine) -> dict[str, Any]:
        whole = machine.shown(full=kind != "query")
        if kind != "select":
            return whole
        everything = {**machine.extra, **whole}
        return {str(name): everything[name] for name in selection if name in everything}

    return _by_provider(
        configuration.providers.values(),
        lambda account: {each.name: shown(each) for each in account.machines() if names is None or each.name in names},
    )


def list_offers(configuration: CloudConfiguration, what: str, provider: str) -> ByProvider:
    """The images, sizes or locations of a provider, or of `all`; CloudFailed."""
    asked = list(configuration.providers.values()) if provider == "all" else [configuration.provider(provider)]
    return _by_provider(asked, lambda account: account.offers(what))


def list_providers(configuration: CloudConfiguration) -> ByProvider:
    """The providers, each with its profiles."""
    found: ByProvider = {
        alias: {provider.driver: {"profiles": {}}} for alias, provider in configuration.providers.items()
    }
    for name in configuration.profiles:
        profile = configuration.profile(name)
        found[profile.provider.alias][profile.provider.driver]["profiles"][name] = _without_secrets(profile.options)
    return found


def list_profiles(configuration: CloudConfiguration, provider: str) -> dict[str, Any]:
    """Provider -> driver -> profiles; of one provider, or of `all`. CloudFailed."""
    if provider != "all":
        configuration.provider(provider)
    return {
        alias: {driver: said["profiles"] for driver, said in drivers.items()}
        for alias, drivers in list_providers(configuration).items()
        if provider in ("all", alias) and any(said["profiles"] for said in drivers.values())
    }


def find_machines(configuration: CloudConfiguration, names: Collection[str] | None = None) -> list[FoundMachine]:
    """All machines with these names, of all accounts; CloudFailed."""
    found = _asked(
        configuration.providers.values(),
        lambda provider, account: [
            FoundMachine(provider=provider, account=account, machine=each) for each in account.machines()
        ],
    )
    return [each for some in found.values() for each in some if names is None or each.machine.name in names]


def _by_provider(providers: Iterable[CloudProvider], ask: Callable[[Account], Any]) -> ByProvider:
    providers = list(providers)
    found = _asked(providers, lambda provider, account: ask(account))
    return {each.alias: {each.driver: found[each.alias]} for each in providers}


def _asked(providers: Iterable[CloudProvider], ask: Callable[[CloudProvider, Account], _Answer]) -> dict[str, _Answer]:
    providers = list(providers)
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="cloud") as pool:
        waiting = {each.alias: pool.submit(_of_account, each, ask) for each in providers}
        return {alias: future.result() for alias, future in waiting.items()}


def _of_account(provider: CloudProvider, ask: Callable[[CloudProvider, Account], _Answer]) -> _Answer:
    return ask(provider, account_of(provider))


_SHOWN = (
    *("image", "size", "location", "availability_zone", "provider", "ssh_username", "ssh_host", "ssh_interface"),
    *("script", "packages", "deploy", "grains", "sudo"),
)


def _without_secrets(options: Mapping[str, Any]) -> dict[str, Any]:
    """What of a profile is no credential."""
    return {name: options[name] for name in _SHOWN if name in options}


def found_none(names: Collection[str]) -> CloudFailed:
    """No account has one of these."""
    return CloudFailed(f"no account has a machine named {', '.join(sorted(names))}: saltern cloud -Q")
