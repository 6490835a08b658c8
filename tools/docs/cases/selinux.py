"""States of SELinux: none has a case."""

from __future__ import annotations

from collections.abc import Mapping

from tools.docs.cases.case import Case

_FUNCTIONS = """
    boolean fcontext_policy_absent fcontext_policy_applied fcontext_policy_present mode module module_install
    module_remove port_policy_absent port_policy_present
"""

CASES: tuple[Case, ...] = ()
WITHOUT: Mapping[str, str] = {
    f"selinux.{fun}": "each change builds the policy anew, for a minute; tried with Debian's policy and on stand-ins"
    for fun in _FUNCTIONS.split()
}
