"""The machine's own tools behind ports: package managers, service managers, accounts.

Called by the pkg, service, user and group states and execution functions. A provider looks through a `Reader` and acts
through a `Machine` only, so that whatever has no `Machine` cannot change anything.
"""

from minion.providers.accounts import Group, User
from minion.providers.pkg.packages import Available, Package, PackageManager, Step, Target, package_manager
from minion.providers.service.services import Service, ServiceManager, service_manager

__all__ = [
    "Available",
    "Group",
    "Package",
    "PackageManager",
    "Service",
    "ServiceManager",
    "Step",
    "Target",
    "User",
    "package_manager",
    "service_manager",
]
