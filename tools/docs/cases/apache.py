"""Cases of the states of Apache, in Debian's folders of it."""

from __future__ import annotations

from collections.abc import Mapping

from tools.docs.cases.case import Case

_APACHE = ("apache2",)
_SITE = "case"
_MADE = "printf '<VirtualHost *:8099>\\n</VirtualHost>\\n' > /etc/apache2/{kind}-available/case.conf"
_GONE = (
    "rm -f /etc/apache2/sites-available/case.conf /etc/apache2/sites-enabled/case.conf "
    "/etc/apache2/conf-available/case.conf /etc/apache2/conf-enabled/case.conf",
)
_CONFIG = [
    {
        "VirtualHost": {
            "this": "*:80",
            "ServerName": ["www.example.org"],
            "ServerAlias": ["one.example.org", "two.example.org"],
            "Directory": {"this": "/srv", "Options": ["Indexes"], "Require": "all granted"},
        }
    },
    {"Timeout": "5"},
    {"VirtualHost": [{"this": "*:81"}, {"ServerName": "b"}, {"If": {"this": "-z ''", "Deny": "x"}}, {"Else": {
        "this": "", "Allow": ["y", "z"]}}]},
]  # fmt: skip


def _of(kind: str) -> str:
    return _MADE.replace("{kind}", kind)


CASES: tuple[Case, ...] = (
    Case(fun="apache.configfile", name="{top}/site.conf", arguments={"config": _CONFIG}),
    Case(fun="apache.configfile", name="{top}/site.conf", arguments={"config": _CONFIG},
         files={"site.conf": "Timeout 5\n"}),
    Case(fun="apache_conf.enabled", name=_SITE, before=(_of("conf"),), after=_GONE, needs=_APACHE),
    Case(fun="apache_conf.disabled", name=_SITE, before=(_of("conf"), "a2enconf case"), after=_GONE, needs=_APACHE),
    Case(fun="apache_module.enabled", name="dav_fs", after=("a2dismod dav_fs dav",), needs=_APACHE),
    Case(fun="apache_module.disabled", name="rewrite", before=("a2enmod rewrite",), after=("a2dismod rewrite",),
         needs=_APACHE),
    Case(fun="apache_site.enabled", name=_SITE, before=(_of("sites"),), after=_GONE, needs=_APACHE),
    Case(fun="apache_site.disabled", name=_SITE, before=(_of("sites"), "a2ensite case"), after=_GONE, needs=_APACHE),
)  # fmt: skip
WITHOUT: Mapping[str, str] = {}
