"""Cases of the states of Zabbix: they need a frontend."""

from __future__ import annotations

from collections.abc import Mapping

from tools.docs.cases.case import Case

_KINDS = ("action", "host", "hostgroup", "mediatype", "template", "user", "usergroup", "usermacro", "valuemap")
_FRONTEND = "tried on a Zabbix frontend of the tests"

CASES: tuple[Case, ...] = ()
WITHOUT: Mapping[str, str] = {
    **{f"zabbix_{kind}.absent": _FRONTEND for kind in _KINDS},
    **{f"zabbix_{kind}.present": _FRONTEND for kind in _KINDS if kind != "template"},
    "zabbix_host.assign_templates": _FRONTEND,
    "zabbix_template.is_present": _FRONTEND,
    "zabbix_user.admin_password_present": _FRONTEND,
}
