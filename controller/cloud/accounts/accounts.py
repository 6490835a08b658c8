"""The account of a provider, by its driver."""

from __future__ import annotations

from controller.cloud.accounts.account import Account
from controller.cloud.accounts.existing_machines import ExistingMachines
from controller.cloud.accounts.libcloud_account import LibcloudAccount, known_drivers, knows
from controller.cloud.configuration import CloudProvider
from controller.cloud.errors import CloudFailed


def account_of(provider: CloudProvider) -> Account:
    """The account; CloudFailed where there is none."""
    if provider.driver == "saltify":
        return ExistingMachines()
    if not knows(provider.driver, provider.options):
        drivers = ", ".join(sorted([*known_drivers(), "saltify"]))
        raise CloudFailed(
            f"the provider {provider.alias!r} has the driver {provider.driver!r}; there are {drivers}, and any of "
            "Libcloud's by its name with `libcloud: {ARGUMENT: VALUE}`"
        )
    return LibcloudAccount(provider)
