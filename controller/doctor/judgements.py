"""What is made of what was seen of a controller: pure functions, one a check."""

from __future__ import annotations

from minion.doctor.finding import CheckFinding, fail, warn, well


def store(url: str, found: str, newest: str, error: str) -> CheckFinding:
    """The store can be read, and this version knows its schema.

    Args:
        url: of the store, without a password.
        found: version of its schema; empty: there is no store yet.
        newest: that this version has.
        error: why nothing could be read.
    """
    if error:
        return fail(
            "store", f"{url}: {error}", "start the database, or mend store_url; run this as the controller's user"
        )
    if not found:
        return warn("store", f"{url} is empty", "it is made at the first start of the controller")
    if found > newest:
        todo = "install the version that made it, or restore the backup of before (docs/operations.md)"
        return fail("store", f"{url} has schema {found}, newer than {newest} of this version", todo)
    if found < newest:
        todo = "make a backup, then start the controller, which migrates it"
        return warn("store", f"{url} has schema {found}; this version has {newest}", todo)
    return well("store", f"{url} answers, schema {found}")


def port(name: str, where: str, listening: bool, running: bool) -> CheckFinding:
    """A port is the controller's while it runs, and free while it does not.

    Args:
        name: of the option.
        where: ADDRESS:PORT.
        listening: whether somebody takes connections there.
        running: whether the controller does.
    """
    if running and not listening:
        return fail("port", f"nobody listens at {where} ({name})", "see the controller's log; restart it")
    if not running and listening:
        return fail("port", f"another program listens at {where} ({name})", f"end it, or set another {name}")
    return well("port", f"{where} ({name}) {'is served' if running else 'is free'}")


def running(socket: str, answers: bool) -> CheckFinding:
    """The controller answers the command line."""
    if not answers:
        return warn("controller", f"no controller answers on {socket}", "start it: saltern controller")
    return well("controller", f"answers on {socket}")


def remote(name: str, error: str) -> CheckFinding:
    """A git remote answers with the credentials of the configuration."""
    if error:
        return fail("remote", f"{name}: {error}", f"saltern remote check {name}; docs/troubleshooting.md")
    return well("remote", f"{name} answers")


def no_remotes() -> CheckFinding:
    """Nothing is followed."""
    return warn("remote", "no remote is configured", "write gitfs_remotes into the controller's configuration")


def sandbox(wanted: bool, lacking: str) -> CheckFinding:
    """Processes that render templates are sandboxed.

    Args:
        wanted: `compile_confinement`.
        lacking: why this kernel cannot; empty: it can.
    """
    if not wanted:
        return warn(
            "sandbox", "compile_confinement is off", "leave it out of the configuration, unless a tree needs it off"
        )
    if lacking:
        todo = "boot with `landlock` among lsm=, on Linux 5.13 or later; until then Jinja's sandbox is the only one"
        return warn("sandbox", f"processes that compile are not sandboxed: {lacking}", todo)
    return well("sandbox", "processes that compile are sandboxed (Landlock)")
