"""The execution module `cmd`: commands on the machine. Salt's names and defaults; a string goes through the shell.

Called by people a string goes through the shell, as Salt does for calls that come from outside; called by a template
or a module it is split into words, unless `python_shell` is true (the loader sees to that).
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, TypedDict, Unpack

from minion.arguments.commands import Command, ScriptArguments
from minion.arguments.types import Mode, Seconds, Texts, Unsupported, Variables
from minion.execution.arguments import (
    AlwaysDone,
    NoCommandLog,
    NoExitCodeLog,
    NoLocale,
    NoPassword,
    NoTerminal,
    NoTreeFile,
    NotSupported,
    Utf8Output,
)
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.machine.failure import StateFailed
from minion.machine.plan import Completed

SHELLS = "/etc/shells"


class _MoreOptions(TypedDict, total=False):
    clean_env: Annotated[Any, Unsupported("see env")]
    ignore_retcode: bool
    prepend_path: str | None
    raise_err: bool
    redirect_stderr: bool
    rstrip: AlwaysDone


class _CodeOptions(_MoreOptions, total=False):
    bg: Annotated[Any, Unsupported("use cmd.run_bg")]
    env: Variables | None
    group: Annotated[Any, Unsupported("see runas")]
    hide_output: bool
    log_callback: NotSupported
    output_encoding: Utf8Output
    output_loglevel: NoCommandLog
    password: NoPassword
    python_shell: bool | None
    reset_system_locale: NoLocale
    runas: str | None
    saltenv: str
    shell: str | None
    stdin: str | None
    success_retcodes: Texts
    success_stderr: Texts
    success_stdout: Texts
    template: str | None
    timeout: Seconds | None
    umask: Mode | None
    use_vt: NoTerminal


class RunOptions(_CodeOptions, total=False):
    """What functions that run a command take besides, as keywords."""

    cwd: str | None


def run(context: Context, cmd: Command, **options: Unpack[RunOptions]) -> str:
    """Output of a command, stderr after stdout. Options: cwd, env, runas, timeout, stdin, shell, python_shell."""
    return _both(_run(context, cmd, **options))


def shell(context: Context, cmd: str, **options: Unpack[RunOptions]) -> str:
    """Output of a command that goes through a shell, unless `python_shell` is false."""
    if options.get("python_shell") is None:
        options["python_shell"] = True
    return _both(_run(context, cmd, **options))


def run_stdout(context: Context, cmd: Command, **options: Unpack[RunOptions]) -> str:
    """Standard output of a command."""
    return _run(context, cmd, **options).stdout.rstrip("\n")


def run_stderr(context: Context, cmd: Command, **options: Unpack[RunOptions]) -> str:
    """Standard error of a command."""
    return _run(context, cmd, **options).stderr.rstrip("\n")


def run_all(context: Context, cmd: Command, **options: Unpack[RunOptions]) -> dict[str, Any]:
    """Process id, exit code, stdout and stderr of a command."""
    return as_salt(_run(context, cmd, **options), redirect=options.get("redirect_stderr", False))


def retcode(context: Context, cmd: Command, **options: Unpack[RunOptions]) -> int:
    """Exit code of a command."""
    return _run(context, cmd, **options).returncode


def run_bg(
    context: Context, cmd: Command, cwd: str | None = None, runas: str | None = None, group: NotSupported = None,
    shell: str | None = None, python_shell: bool | None = True, env: Variables | None = None,
    clean_env: NotSupported = None,
    template: NotSupported = None, umask: Mode | None = None, timeout: NotSupported = None,
    output_encoding: Utf8Output = None, output_loglevel: NoCommandLog = None, log_callback: NotSupported = None,
    reset_system_locale: NoLocale = None, ignore_retcode: NoExitCodeLog = None, saltenv: NoTreeFile = None,
    password: NoPassword = None, prepend_path: NotSupported = None, success_retcodes: NotSupported = None,
    success_stdout: NotSupported = None, success_stderr: NotSupported = None,
) -> dict[str, Any]:  # fmt: skip
    """Start a command and leave it to itself; its process id."""
    import subprocess

    from minion.machine.environment import environment
    from minion.machine.process import default_shell, identity_of

    words = cmd if isinstance(cmd, list) else [shell or default_shell(), "-c", cmd]
    if isinstance(cmd, str) and not python_shell:
        words = shlex.split(cmd)
    variables = _environ()
    as_user = identity_of(runas, variables) if runas is not None else {}
    process = subprocess.Popen(
        words,
        cwd=cwd,
        env={**variables, **(environment(env) or {})},
        umask=-1 if umask is None else int(umask, 8),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        **as_user,
    )
    process.returncode = 0  # nobody waits for it, and Python need not say so
    return {"pid": process.pid}


class ScriptCall(NamedTuple):
    """Arguments of cmd.script and cmd.script_retcode: how a script is made and run."""

    args: ScriptArguments = ""
    cwd: str | None = None
    stdin: str | None = None
    runas: str | None = None
    group: NotSupported = None
    shell: str | None = None
    python_shell: bool | None = True
    env: Variables | None = None
    template: str | None = None
    umask: Mode | None = None


class ScriptSuccess(NamedTuple):
    """Arguments of the same: which results are good ones."""

    success_retcodes: Texts = ()
    success_stdout: Texts = ()
    success_stderr: Texts = ()


_GOOD = ScriptSuccess()


def script(
    context: Context, source: str, how: ScriptCall, output_encoding: Utf8Output = None,
    output_loglevel: NoCommandLog = None, log_callback: NotSupported = None, hide_output: bool = False,
    timeout: Seconds | None = None, reset_system_locale: NoLocale = None, saltenv: str = "base",
    use_vt: NoTerminal = None, bg: NotSupported = None, password: NoPassword = None, success: ScriptSuccess = _GOOD,
    **options: Unpack[_MoreOptions],
) -> dict[str, Any]:  # fmt: skip
    """Fetch a script (`salt://`, a path, a URL), run it, and say how it went."""
    from minion.states.cmd.script import content, run_script

    machine = context.machine
    try:
        data = content(machine, source, saltenv, how.template, {})
    except StateFailed:
        if not source.startswith("salt://") or how.template:
            raise
        return {"pid": 0, "retcode": 1, "stdout": "", "stderr": "", "cache_error": True}

    def launch(_machine: Any, line: str) -> Completed:
        return _run(
            context, line, cwd=how.cwd, env=how.env, runas=how.runas, timeout=timeout, stdin=how.stdin,
            shell=how.shell, python_shell=how.python_shell, umask=how.umask, hide_output=hide_output,
            **success._asdict(), **options,
        )  # fmt: skip

    return as_salt(run_script(machine, data, how.args or "", how.cwd, how.runas, launch))


def script_retcode(
    context: Context, source: str, how: ScriptCall, timeout: Seconds | None = None,
    reset_system_locale: NoLocale = None, saltenv: str = "base", output_encoding: Utf8Output = None,
    output_loglevel: NoCommandLog = None, log_callback: NotSupported = None, use_vt: NoTerminal = None,
    password: NoPassword = None, success: ScriptSuccess = _GOOD, **options: Unpack[_MoreOptions],
) -> int:  # fmt: skip
    """Exit code of a script."""
    done = script(context, source, how, timeout=timeout, saltenv=saltenv, success=success, **options)
    code: int = done["retcode"]
    return code


def exec_code(
    context: Context,
    lang: str,
    code: Command,
    cwd: str | None = None,
    args: Command | None = None,
    **options: Unpack[_CodeOptions],
) -> str:
    """Output of a piece of code, run by an interpreter such as `python3`."""
    return _both(_code(context, lang, code, args, {**options, "cwd": cwd}))


def exec_code_all(
    context: Context,
    lang: str,
    code: Command,
    cwd: str | None = None,
    args: Command | None = None,
    **options: Unpack[_CodeOptions],
) -> dict[str, Any]:
    """Process id, exit code, stdout and stderr of a piece of code, run by an interpreter such as `python3`."""
    return as_salt(_code(context, lang, code, args, {**options, "cwd": cwd}))


def which(context: Context, cmd: str) -> str | None:
    """Path of a program, null when it is not there."""
    return shutil.which(cmd)


def which_bin(context: Context, cmds: Texts) -> str | None:
    """Path of the first of several programs that is there."""
    return next((found for one in cmds if (found := shutil.which(one))), None)


def has_exec(context: Context, cmd: str) -> bool:
    """Whether a program is there."""
    return shutil.which(cmd) is not None


def shells(context: Context) -> list[str]:
    """Shells that people of this machine may have."""
    if context.machine.stat(SHELLS) is None:
        return []
    lines = context.machine.read(SHELLS).decode("utf-8", "replace").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


def tty(context: Context, device: str, echo: str = "") -> dict[str, str]:
    """Write a line to a terminal: `tty0`, `pts/3`."""
    if not device.startswith(("tty", "pts")) or ".." in device:
        raise CallFailed("The first argument is the name of a terminal: tty0, pts/3")
    try:
        with open(f"/dev/{device}", "w") as file:  # noqa: PTH123  (a device, not a file of the tree)
            file.write(f"{echo}\n")
    except OSError as error:
        return {"Error": f"/dev/{device}: {error.strerror}"}
    return {"Success": f"Message was successfully echoed to /dev/{device}"}


def as_salt(done: Completed, *, redirect: bool = False) -> dict[str, Any]:
    """What Salt says of a command that ran."""
    return {
        "pid": done.pid,
        "retcode": done.returncode,
        "stdout": _both(done) if redirect else done.stdout.rstrip("\n"),
        "stderr": "" if redirect else done.stderr.rstrip("\n"),
    }


def _both(done: Completed) -> str:
    return "\n".join(text for text in (done.stdout.rstrip("\n"), done.stderr.rstrip("\n")) if text)


def _code(context: Context, lang: str, code: Command, args: Command | None, options: RunOptions) -> Completed:
    import tempfile

    text = "\n".join(code) if isinstance(code, list) else code
    words = args if isinstance(args, list) else (args or "").split()
    with tempfile.NamedTemporaryFile("w", prefix="saltern-code-") as file:
        file.write(text)
        file.flush()
        if options.get("runas") is not None:
            context.machine.chown(file.name, options["runas"], None)
        return _run(context, [lang, file.name, *words], **options)


def _environ() -> dict[str, str]:
    import os

    return dict(os.environ)


def _run(context: Context, cmd: Command, **options: Unpack[RunOptions]) -> Completed:
    from minion.machine.environment import environment
    from minion.machine.process import run as run_process

    variables = environment(options.get("env")) or {}
    prepended = options.get("prepend_path")
    if prepended:
        variables["PATH"] = f"{prepended}:{variables.get('PATH') or _environ().get('PATH', '')}"
    done = run_process(
        _command(context, cmd, options),
        cwd=options.get("cwd"),
        env=variables,
        runas=options.get("runas"),
        timeout=options.get("timeout"),
        stdin=options.get("stdin"),
        shell=options.get("shell"),
    )
    done = _judged(done, options)
    context.retcode = 0 if options.get("ignore_retcode") else done.returncode
    if options.get("raise_err") and done.returncode != 0:
        raise CallFailed(f"Command {cmd!r} failed with return code {done.returncode}: {_both(done)}")
    if options.get("hide_output"):
        return Completed(returncode=done.returncode, stdout="", stderr="", pid=done.pid)
    return done


def _command(context: Context, cmd: Command, options: RunOptions) -> str | list[str]:
    """What is run: words, or a line for the shell."""
    if isinstance(cmd, list):
        return cmd
    template, umask, line = options.get("template"), options.get("umask"), cmd
    if template is not None:
        line = context.machine.render_text(line, template, options.get("saltenv", "base"), {}).decode()
    if not options.get("python_shell", True):
        return shlex.split(line)
    return line if umask is None else f"umask {umask}; {line}"


def _judged(done: Completed, options: RunOptions) -> Completed:
    """With exit code 0 where the caller counts this code or this output as success."""
    good = (
        str(done.returncode) in options.get("success_retcodes", ())
        or any(text in done.stdout for text in options.get("success_stdout", ()))
        or any(text in done.stderr for text in options.get("success_stderr", ()))
    )
    return Completed(returncode=0, stdout=done.stdout, stderr=done.stderr, pid=done.pid) if good else done


FUNCTIONS: Mapping[str, Any] = {
    "exec_code": exec_code,
    "exec_code_all": exec_code_all,
    "has_exec": has_exec,
    "retcode": retcode,
    "run": run,
    "run_all": run_all,
    "run_bg": run_bg,
    "run_stderr": run_stderr,
    "run_stdout": run_stdout,
    "script": script,
    "script_retcode": script_retcode,
    "shell": shell,
    "shells": shells,
    "tty": tty,
    "which": which,
    "which_bin": which_bin,
}
