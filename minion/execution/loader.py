"""Finds and calls execution functions.

Called by all code that has a `Context`. It checks arguments before the call, so that a TypeError from within a function
is never taken for a wrong argument.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from minion import arguments
from minion.arguments import spec_of
from minion.execution import language
from minion.execution.errors import BadArguments, CallFailed, UnknownFunction
from minion.execution.unsupported import NOT_BUILT
from minion.machine.failure import StateFailed
from options.near_names import near

if TYPE_CHECKING:
    from extmods.loader import UserFunction, UserModules

_NAMES = """
    acl
    acme
    aliases
    alternatives
    apache
    archive
    at
    augeas
    beacons
    cabal
    cloud
    bower
    cmd
    composer
    config
    cp
    cron
    data
    debconf
    defaults
    dig
    disk
    dnsutil
    docker
    elasticsearch
    environ
    event
    file
    firewalld
    flatpak
    gem
    git
    gpg
    grains
    group
    hashutil
    haproxy
    helm
    hosts
    http
    influxdb
    ini
    ip
    ipset
    iptables
    jinja
    jinja_filter
    kernelpkg
    keyboard
    kmod
    kubernetes
    locale
    log
    lvm
    logrotate
    match
    memcached
    mine
    mongodb
    monit
    mount
    mysql
    network
    nftables
    nginx
    npm
    ntp
    pecl
    pillar
    pip
    pkg
    postgres
    ps
    publish
    rabbitmq
    quota
    raid
    random
    rsync
    redis
    saltcheck
    saltutil
    schedule
    selinux
    service
    shadow
    slsutil
    sqlite3
    snap
    slack
    smtp
    ssh
    state
    status
    supervisord
    sys
    sysctl
    syslog_ng
    sysrc
    system
    test
    timezone
    tls
    user
    vault
    virtualenv
    x509
    xml
    zabbix
"""

MODULES = tuple(_NAMES.split())

_NOT_IN_TEMPLATES = ("system.halt", "system.init", "system.poweroff", "system.reboot", "system.shutdown")

Function = Callable[..., Any]
"""`f(context, *arguments) -> value`, the value being what YAML and msgpack know."""

_LOCATIONS = {
    **{name: f"servers.{name}" for name in ("apache", "rabbitmq")},
    **{name: f"servers.{name}" for name in ("apache", "haproxy", "monit", "nginx", "syslog_ng")},
    "cabal": "haskell.cabal",
    "gem": "ruby.gem",
    **{name: f"javascript.{name}" for name in ("bower", "npm")},
    **{name: f"php.{name}" for name in ("composer", "pecl")},
    "rsync": "transfer.rsync",
    **{name: f"messages.{name}" for name in ("slack", "smtp")},
    "augeas": "documents.augeas",
    "xml": "documents.xml",
    **{
        name: f"{name}.module"
        for name in (
            "cloud",
            "docker",
            "elasticsearch",
            "file",
            "git",
            "mysql",
            "helm",
            "kubernetes",
            "network",
            "pkg",
            "postgres",
            "saltcheck",
            "saltutil",
            "schedule",
            "state",
            "vault",
            "x509",
            "zabbix",
        )
    },
    **{name: f"storage.{name}" for name in ("lvm", "quota", "raid")},
    **{name: f"security.{name}" for name in ("acl",)},
    **{name: f"keys.{name}" for name in ("acme", "gpg", "tls")},
    **{name: f"keys.{name}" for name in ("acme", "gpg")},
    "influxdb": "stores.influxdb",
    "memcached": "stores.memcached",
    "mongodb": "stores.mongodb",
    "redis": "stores.redis",
    "sqlite3": "stores.sqlite",
    **{name: f"security.{name}" for name in ("acl", "selinux")},
    **{name: f"firewall.{name}" for name in ("firewalld", "ipset", "nftables")},
    **{name: f"software.{name}" for name in ("flatpak", "snap")},
    **{name: f"firewall.{name}" for name in ("firewalld", "nftables")},
    **{name: f"accounts.{name}" for name in ("group", "shadow", "ssh", "user")},
    **{name: f"network.{name}" for name in ("dig", "dnsutil", "hosts", "http", "ip", "iptables")},
    **{name: f"python.{name}" for name in ("pip", "virtualenv")},
    **{
        name: f"system.{name}"
        for name in (
            "at",
            "disk",
            "kernelpkg",
            "keyboard",
            "kmod",
            "locale",
            "logrotate",
            "mount",
            "ntp",
            "ps",
            "service",
            "status",
            "sysctl",
            "sysrc",
            "system",
            "timezone",
        )
    },
}
"""Below `minion.modules`, where it is not the name itself."""

_SHELLS = ("cmd.run", "cmd.run_all", "cmd.run_stdout", "cmd.run_stderr", "cmd.retcode")
"""Functions that a person calls through a shell, and a template or a module without one (Salt's python_shell)."""


class FunctionContext(Protocol):
    """What finding a function needs of a `Context`; the function itself is given all of it."""

    retcode: int

    @property
    def user_modules(self) -> UserModules:
        """The modules that came with the tree."""

    def has_user_modules(self) -> bool:
        """Whether there are any."""


class Modules:
    """The execution functions, for one context."""

    def __init__(self, context: FunctionContext) -> None:
        self._context = context

    def call(self, fun: str, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        """The function's value. Raises UnknownFunction, BadArguments, CallFailed, or what the function raises."""
        given = {key: value for key, value in (kwargs or {}).items() if not key.startswith("__pub_")}
        user = self._user(str(fun))
        if user is not None:
            _check(fun, user.call, args, given)
            return user.call(*args, **given)
        function = find(fun)
        args, given = _bound(str(fun), function, args, given)
        try:
            return function(self._context, *args, **given)
        except StateFailed as error:  # what a state would say: the machine is asked by the same code
            raise CallFailed(str(error)) from error
        except OSError as error:
            raise CallFailed(f"{error.filename}: {error.strerror}" if error.filename else str(error)) from error

    def call_with_retcode(
        self, fun: str, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> tuple[Any, int]:
        """The function's value, and the exit code that it left: of a command, or by `test.retcode`."""
        self._context.retcode = 0
        value = self.call(fun, args, kwargs)
        return value, self._context.retcode

    def signature(self, fun: str) -> inspect.Signature | None:
        """What the function takes from its caller; None when there is no such function."""
        user = self._user(fun)
        if user is not None:
            return user.signature
        try:
            function = find(fun)
        except UnknownFunction:
            return None
        return spec_of(function, 1).signature()

    def has(self, fun: str) -> bool:
        """Whether there is such a function."""
        if self._user(fun) is not None:
            return True
        try:
            find(fun)
        except UnknownFunction:
            return False
        return True

    def _user(self, fun: str) -> UserFunction | None:
        """A function of a user module, which stands before a built-in one. Looks for a file; imports nothing else."""
        return self._context.user_modules.function(fun) if self._context.has_user_modules() else None

    def as_functions(self, *, language: bool = False) -> Mapping[str, Callable[..., Any]]:
        """All of them by full name, as templates call them.

        Templates have those of the language by themselves, in their own saltenv: they are here only for `language`.
        """
        return _Callables(self, language)


class _Callables(Mapping[str, Callable[..., Any]]):
    """Full name → callable; a module is imported when one of its functions is called or looked for."""

    def __init__(self, modules: Modules, language: bool) -> None:
        self._modules = modules
        self._language = language

    def __getitem__(self, fun: str) -> Callable[..., Any]:
        if fun in _NOT_IN_TEMPLATES or not self._modules.has(fun) or (not self._language and _of_language(fun)):
            raise KeyError(fun)
        given = {"python_shell": False} if fun in _SHELLS else {}
        return lambda *args, **kwargs: self._modules.call(fun, args, {**given, **kwargs})

    def __iter__(self) -> Iterator[str]:
        return (name for name in names() if self._language or not _of_language(name))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def find(fun: str) -> Function:
    """The function; UnknownFunction with near names."""
    module, _, name = str(fun).partition(".")
    function = functions_of(module).get(name) or language.find(str(fun)) if module in MODULES else None
    if function is None:
        raise UnknownFunction(f"'{fun}' is not available.{_near(str(fun), module)}")
    return function


def functions_of(module: str) -> Mapping[str, Function]:
    """The functions that a module has itself; none for one that is the language's alone."""
    name = f"minion.modules.{_LOCATIONS.get(module, module)}"
    try:
        found = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name == name:
            return {}
        raise
    functions: Mapping[str, Function] = found.FUNCTIONS
    return functions


def _added(module: str) -> list[str]:
    """Names of the functions of a module that come from the language."""
    own = functions_of(module)
    return [name for name in language.names_of(module) if name not in own]


def _of_language(fun: str) -> bool:
    module, _, name = fun.partition(".")
    return fun in language.DOCS and name not in functions_of(module)


def names() -> list[str]:
    """Full names of all functions, sorted."""
    return sorted(f"{module}.{name}" for module in MODULES for name in names_in(module))


def names_in(module: str) -> list[str]:
    """Names of the functions of a module, without its own, which imports that module alone."""
    return [*functions_of(module), *_added(module)]


def usage(fun: str, function: Function) -> str:
    """The signature as its caller sees it, and the docstring."""
    return _described(fun, spec_of(function, 1).signature(), function)


def usage_of_user(fun: str, function: Function) -> str:
    """The same of a function of the tree."""
    signature = inspect.signature(function)
    parameters = [one.replace(annotation=inspect.Parameter.empty) for one in signature.parameters.values()]
    return _described(fun, inspect.Signature(parameters), function)


def _described(fun: str, signature: inspect.Signature, function: Function) -> str:
    return f"{fun}{signature}\n\n{inspect.getdoc(function) or ''}".strip()


def _bound(
    fun: str, function: Function, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Sequence[Any], dict[str, Any]]:
    """The arguments of a call as the function's types. BadArguments for those that it does not take."""
    spec = spec_of(function, 1)
    try:
        positional, keywords = spec.bind(fun, args, kwargs)
        missing = [name for name in spec.required[len(positional) :] if name not in keywords]
        if missing:
            raise arguments.BadValues(f"missing {' and '.join(missing)}")
        unknown = [] if spec.takes_anything else [name for name in keywords if name not in spec.parameters]
        if unknown:
            raise arguments.BadValues(f"there is no argument {' or '.join(unknown)}")
    except arguments.BadValues as error:
        text = str(error)
        said = text if text.startswith("Passed invalid arguments") else f"Passed invalid arguments to {fun}: {text}"
        raise BadArguments(f"{said}\n\nUsage: {usage(fun, function)}") from None
    return positional, spec.grouped(keywords)


def _check(fun: str, function: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:
        raise BadArguments(
            f"Passed invalid arguments to {fun}: {error}\n\nUsage: {usage_of_user(fun, function)}"
        ) from None


def _near(fun: str, module: str) -> str:
    if fun in NOT_BUILT:
        return f" It is not built: {NOT_BUILT[fun]}."
    if module not in MODULES:
        meant = near(module, MODULES)
        hint = f" Did you mean {meant[0]}?" if meant else ""
        return f" There is no module '{module}'.{hint} sys.list_functions names all."
    known = sorted((*functions_of(module), *_added(module)))
    meant = near(fun.partition(".")[2], known, most=3, cutoff=0.5)
    listed = [f"{module}.{name}" for name in meant or known]
    return f" Did you mean {' or '.join(listed)}?" if meant else f" There are: {', '.join(listed)}."
