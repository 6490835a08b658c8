"""Cases of packages of JavaScript and PHP, which are made here. The machine has npm, or its states are not tried."""

from __future__ import annotations

from collections.abc import Mapping

from tools.docs.cases.case import Case

_PACKAGE = '{"name": "saltern-case", "version": "1.2.0"}'
_FILES = {
    "one/package.json": _PACKAGE,
    "app/package.json": '{"name": "app", "version": "1.0.0", "dependencies": {"saltern-case": "file:../one"}}',
    "empty/": "",
}
_HAS = "cd {top}/empty && npm install --no-audit --no-fund {top}/one"
_IN_EMPTY = {"dir": "{top}/empty"}
_COMPOSER, _PECL = ("composer",), ("php-pear", "php-xml")
_PROJECT = {
    "lib/composer.json": '{"name": "case/lib", "version": "1.0.0"}',
    "app/composer.json": '{"name": "case/app", "require": {"case/lib": "*"}, "repositories": ['
    '{"packagist.org": false}, {"type": "path", "url": "../lib", "options": {"symlink": false}}]}',
}
_HOME = {"composer_home": "{top}/home", "env": {"COMPOSER_ALLOW_SUPERUSER": "1"}}
_INSTALL = "COMPOSER_HOME={top}/home COMPOSER_ALLOW_SUPERUSER=1 composer install -n -q --working-dir {top}/app"
_ASKED = f"{_INSTALL} --dry-run"
"""Composer makes its own folder whatever it is asked."""
_NEWER = "sed -i 's/1[.]0/1.1/' {top}/lib/composer.json"
_PHP_PACKAGE = (
    '<?xml version="1.0"?><package version="2.0" xmlns="http://pear.php.net/dtd/package-2.0"><name>salterncase</name>'
    "<channel>pecl.php.net</channel><summary>x</summary><description>x</description><lead><name>x</name><user>x</user>"
    "<email>x@example.org</email><active>yes</active></lead><date>2020-01-01</date><version><release>1.2.0</release>"
    "<api>1.2.0</api></version><stability><release>stable</release><api>stable</api></stability><license>MIT</license>"
    '<notes>x</notes><contents><dir name="/"><file name="x.php" role="php"/></dir></contents><dependencies><required>'
    "<php><min>5.0</min></php><pearinstaller><min>1.4.0</min></pearinstaller></required></dependencies><phprelease/>"
    "</package>"
)
_PHP_FILES = {"p/package.xml": _PHP_PACKAGE, "p/x.php": "<?php\n"}
_BUILT = "cd {top}/p && pear package"
_ARCHIVE = "{top}/p/salterncase-1.2.0.tgz"
_GONE = ("pecl uninstall salterncase",)

CASES: tuple[Case, ...] = (
    Case(fun="npm.installed", name="{top}/one", arguments=_IN_EMPTY, files=_FILES),
    Case(fun="npm.installed", name="saltern-case@^1.1", arguments=_IN_EMPTY, files=_FILES, before=(_HAS,)),
    Case(fun="npm.installed", name="saltern-case@1.2.0", arguments=_IN_EMPTY, files=_FILES, before=(_HAS,)),
    Case(fun="npm.removed", name="saltern-case", arguments=_IN_EMPTY, files=_FILES, before=(_HAS,)),
    Case(fun="npm.bootstrap", name="{top}/app", files=_FILES),
    Case(fun="composer.installed", name="{top}/app", arguments=_HOME, files=_PROJECT, before=(_ASKED,),
         needs=_COMPOSER),
    Case(fun="composer.update", name="{top}/app", arguments=_HOME, files=_PROJECT, before=(_INSTALL, _NEWER),
         needs=_COMPOSER),
    Case(fun="pecl.installed", name=_ARCHIVE, files=_PHP_FILES, before=(_BUILT,), after=_GONE, needs=_PECL),
    Case(fun="pecl.removed", name="salterncase", files=_PHP_FILES, before=(_BUILT, f"pecl install {_ARCHIVE}"),
         after=_GONE, needs=_PECL),
)  # fmt: skip
WITHOUT: Mapping[str, str] = {
    "npm.cache_cleaned": "it needs a registry; tried with one of the tests",
    **{
        f"bower.{fun}": "tried on a bower that the tests bring"
        for fun in ("bootstrap", "installed", "pruned", "removed")
    },
}  # fmt: skip
