"""The execution module `test`.

`test.ping` is called to see whether a machine answers: digests and random numbers, 4 % of its start, are imported late.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from minion.arguments.types import AnyValue
from minion.execution.context import Context
from minion.execution.errors import CallFailed


def ping(context: Context) -> bool:
    """True: the minion answers."""
    return True


def echo(context: Context, text: AnyValue) -> Any:
    """What it is given."""
    return text


def outputter(context: Context, data: AnyValue) -> Any:
    """What it is given."""
    return data


def version(context: Context) -> str:
    """Version of the minion."""
    from importlib.metadata import version as version_of

    return version_of("saltern")


def arg(context: Context, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """The arguments as they arrive."""
    return {"args": list(args), "kwargs": kwargs}


def fib(context: Context, num: int) -> list[Any]:
    """A Fibonacci number, and the seconds that it took to add up."""
    count = num
    if not 0 <= count <= 10_000:
        raise CallFailed(f"num must be from 0 to 10000, not {num}")
    start, a, b = time.perf_counter(), 0, 1
    for _ in range(count):
        a, b = b, a + b
    return [a, time.perf_counter() - start]


def sleep(context: Context, length: float) -> bool:
    """Wait for so many seconds."""
    time.sleep(length)
    return True


def true_(context: Context) -> bool:
    """True."""
    return True


def false_(context: Context) -> bool:
    """False."""
    return False


def kwarg(context: Context, **kwargs: Any) -> dict[str, Any]:
    """The named arguments as they arrive."""
    return kwargs


def arg_type(context: Context, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """The kinds of the arguments."""
    return {"args": [str(type(one)) for one in args], "kwargs": {key: str(type(one)) for key, one in kwargs.items()}}


def arg_repr(context: Context, *args: Any, **kwargs: Any) -> dict[str, str]:
    """The arguments as Python writes them."""
    return {"args": repr(args), "kwargs": repr(kwargs)}


def collatz(context: Context, start: int) -> list[Any]:
    """The numbers from a start down to 1 by the rule of Collatz, and the seconds that took."""
    number, begin, steps = start, time.perf_counter(), []
    if not 0 < number <= 10**12:
        raise CallFailed(f"start must be from 1 to 10^12, not {start}")
    while number != 1:
        steps.append(number)
        number = number // 2 if number % 2 == 0 else 3 * number + 1
    return [steps, time.perf_counter() - begin]


def conf_test(context: Context) -> Any:
    """The value of `test.foo` in the configuration."""
    return context.opts.get("test.foo", "unconfigured")


def get_opts(context: Context) -> dict[str, Any]:
    """The minion's configuration."""
    return dict(context.opts)


def rand_sleep(context: Context, max: int = 60) -> bool:  # noqa: A002  (Salt's name)
    """Wait for a random time of at most so many seconds."""
    import secrets

    time.sleep(secrets.randbelow(1000 * max + 1) / 1000)
    return True


def random_hash(context: Context, size: int = 9_999_999_999, hash_type: str = "sha256") -> str:
    """Digest of a random number below `size`."""
    import hashlib
    import secrets

    text = str(secrets.randbelow(size) + 1)
    try:
        return hashlib.new(hash_type, text.encode(), usedforsecurity=False).hexdigest()
    except ValueError:
        raise CallFailed(f"{hash_type!r} is no digest") from None


def exception(context: Context, message: str = "Test Exception") -> None:
    """Fail with this message."""
    raise CallFailed(message)


def raise_exception(context: Context, name: str, *args: Any) -> None:
    """Fail as a Python exception of this name would."""
    raise CallFailed(f"{name}: {' '.join(map(str, args))}".rstrip(": "))


def assertion(context: Context, assertion: AnyValue) -> None:
    """Fail unless this is true."""
    if not assertion:
        raise CallFailed("The assertion does not hold")


def retcode(context: Context, code: int = 42) -> bool:
    """Leave an exit code, as a command does."""
    context.retcode = code
    return True


def provider(context: Context, module: str) -> str:
    """What is behind a module: for pkg and service what this machine has, else the module itself."""
    from minion.execution.loader import MODULES
    from minion.providers.pkg.detection import package_manager
    from minion.providers.service.detection import service_manager

    if module not in MODULES:
        raise CallFailed(f"There is no module {module}")
    ask: Any = {"pkg": package_manager, "service": service_manager}.get(module)
    return type(ask(context.machine)).__name__.lower() if ask else module


def versions(context: Context) -> str:
    """Versions of the minion, of Python, of its libraries and of the system, as text."""
    lines = []
    for title, parts in versions_information(context).items():
        lines += [f"{title}:", *(f"{key:>14}: {value or 'Not Installed'}" for key, value in parts.items()), ""]
    return "\n".join(lines).rstrip()


def versions_information(context: Context) -> dict[str, dict[str, Any]]:
    """Versions of the minion, of Python, of its libraries and of the system."""
    import platform
    import sys
    from importlib.metadata import PackageNotFoundError, version

    names = ("Jinja2", "msgspec", "psutil", "pygit2", "PyYAML", "pyzmq")
    found: dict[str, Any] = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    system = {"machine": platform.machine(), "release": platform.release(), "system": platform.system()}
    return {"Saltern Version": {"Saltern": version("saltern")}, "Python Version": {"Python": sys.version},
            "Dependency Versions": found, "System Versions": system}  # fmt: skip


FUNCTIONS: Mapping[str, Any] = {
    "arg": arg,
    "arg_repr": arg_repr,
    "arg_type": arg_type,
    "assertion": assertion,
    "collatz": collatz,
    "conf_test": conf_test,
    "exception": exception,
    "get_opts": get_opts,
    "kwarg": kwarg,
    "opts_pkg": get_opts,
    "outputter": outputter,
    "provider": provider,
    "raise_exception": raise_exception,
    "retcode": retcode,
    "rand_sleep": rand_sleep,
    "rand_str": random_hash,
    "random_hash": random_hash,
    "versions": versions,
    "versions_information": versions_information,
    "versions_report": versions,
    "echo": echo,
    "false": false_,
    "fib": fib,
    "ping": ping,
    "sleep": sleep,
    "true": true_,
    "version": version,
}
