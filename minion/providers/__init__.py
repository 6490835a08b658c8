"""The machine's own tools behind ports: package managers, service managers, accounts.

Called by the pkg, service, user and group states and execution functions. A provider looks through a `Reader` and acts
through a `Machine` only, so that whatever has no `Machine` cannot change anything.
"""

from minion.providers.accounts import Group, User
from minion.providers.pkg.packages import (
    Available,
    Package,
    PackageManager,
    PackageTarget,
    TransactionStep,
    package_manager,
)
from minion.providers.service.services import ServiceManager, ServiceState, service_manager

__all__ = [
    "Available",
    "Group",
    "Package",
    "PackageManager",
    "PackageTarget",
    "ServiceManager",
    "ServiceState",
    "TransactionStep",
    "User",
    "package_manager",
    "service_manager",
]
