"""The execution module `cmd`: commands on the machine. Salt's names and defaults; a string goes through the shell.

Called by people a string goes through the shell, as Salt does for calls that come from outside; called by a template
or a module it is split into words, unless `python_shell` is true (the loader sees to that).
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import Any

from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.machine.plan import Completed, StateFailed

SHELLS = "/etc/shells"


def run(context: Context, cmd: Any, **options: Any) -> str:
    """Output of a command, stderr after stdout. Options: cwd, env, runas, timeout, stdin, shell, python_shell."""
    return _both(_run(context, cmd, **options))


def shell(context: Context, cmd: str, **options: Any) -> str:
    """Output of a command that goes through a shell in any case."""
    return _both(_run(context, cmd, **{**options, "python_shell": True}))


def run_stdout(context: Context, cmd: Any, **options: Any) -> str:
    """Standard output of a command."""
    return _run(context, cmd, **options).stdout.rstrip("\n")


def run_stderr(context: Context, cmd: Any, **options: Any) -> str:
    """Standard error of a command."""
    return _run(context, cmd, **options).stderr.rstrip("\n")


def run_all(context: Context, cmd: Any, **options: Any) -> dict[str, Any]:
    """Process id, exit code, stdout and stderr of a command."""
    return as_salt(_run(context, cmd, **options), redirect=bool(options.get("redirect_stderr")))


def retcode(context: Context, cmd: Any, **options: Any) -> int:
    """Exit code of a command."""
    return _run(context, cmd, **options).returncode


def run_bg(
    context: Context, cmd: Any, cwd: str | None = None, runas: str | None = None, shell: str | None = None,
    python_shell: bool | None = True, env: Any = None, umask: Any = None,
) -> dict[str, Any]:  # fmt: skip
    """Start a command and leave it to itself; its process id."""
    import subprocess

    from minion.machine.environment import environment
    from minion.machine.process import identity_of

    words = [str(one) for one in cmd] if isinstance(cmd, list) else [str(shell or "/bin/sh"), "-c", str(cmd)]
    if isinstance(cmd, str) and not python_shell:
        import shlex

        words = shlex.split(cmd)
    variables = _environ()
    as_user = identity_of(runas, variables) if runas is not None else {}
    process = subprocess.Popen(
        words,
        cwd=cwd,
        env={**variables, **(environment(env) or {})},
        umask=-1 if umask is None else int(str(umask), 8),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        **as_user,
    )
    process.returncode = 0  # nobody waits for it, and Python need not say so
    return {"pid": process.pid}


def script(
    context: Context,
    source: str,
    args: Any = None,
    cwd: str | None = None,
    stdin: Any = None,
    runas: str | None = None,
    shell: str | None = None,
    env: Any = None,
    template: str | None = None,
    timeout: Any = None,
    saltenv: str = "base",
    **options: Any,
) -> dict[str, Any]:
    """Fetch a script (`salt://`, a path, a URL), run it, and say how it went."""
    from minion.states.cmd.script import content, run_script, source_of

    path, more = source_of(source, None)
    machine = context.machine
    try:
        data = content(machine, path, saltenv, template, {})
    except StateFailed:
        if not path.startswith("salt://") or template:
            raise
        return {"pid": 0, "retcode": 1, "stdout": "", "stderr": "", "cache_error": True}

    def launch(_machine: Any, line: str) -> Completed:
        return _run(context, line, cwd=cwd, env=env, runas=runas, timeout=timeout, stdin=stdin, shell=shell, **options)

    return as_salt(run_script(machine, data, args or more, cwd, runas, launch))


def script_retcode(context: Context, source: str, *args: Any, **options: Any) -> int:
    """Exit code of a script."""
    code: int = script(context, source, *args, **options)["retcode"]
    return code


def exec_code(context: Context, lang: str, code: Any, cwd: str | None = None, args: Any = None, **options: Any) -> str:
    """Output of a piece of code, run by an interpreter such as `python3`."""
    return _both(_code(context, lang, code, args, {**options, "cwd": cwd}))


def exec_code_all(
    context: Context, lang: str, code: Any, cwd: str | None = None, args: Any = None, **options: Any
) -> dict[str, Any]:
    """Process id, exit code, stdout and stderr of a piece of code, run by an interpreter such as `python3`."""
    return as_salt(_code(context, lang, code, args, {**options, "cwd": cwd}))


def which(context: Context, cmd: str) -> str | None:
    """Path of a program, null when it is not there."""
    return shutil.which(cmd)


def which_bin(context: Context, cmds: Any) -> str | None:
    """Path of the first of several programs that is there."""
    return next((found for one in cmds if (found := shutil.which(str(one)))), None)


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


def _code(context: Context, lang: str, code: Any, args: Any, options: Mapping[str, Any]) -> Completed:
    import tempfile

    text = "\n".join(str(one) for one in code) if isinstance(code, list) else str(code)
    words = [str(one) for one in args] if isinstance(args, list) else str(args or "").split()
    with tempfile.NamedTemporaryFile("w", prefix="saltern-code-") as file:
        file.write(text)
        file.flush()
        return _run(context, [lang, file.name, *words], **options)


def _environ() -> dict[str, str]:
    import os

    return dict(os.environ)


def _run(
    context: Context,
    cmd: Any,
    *,
    cwd: Any = None,
    env: Any = None,
    clean_env: bool = False,
    prepend_path: Any = None,
    runas: Any = None,
    group: Any = None,
    timeout: Any = None,
    stdin: Any = None,
    shell: Any = None,
    python_shell: bool | None = True,
    ignore_retcode: bool = False,
    raise_err: bool = False,
    rstrip: bool = True,
    redirect_stderr: bool = False,
    umask: Any = None,
    output_loglevel: Any = None,
    hide_output: bool = False,
    output_encoding: Any = None,
    reset_system_locale: bool = True,
    saltenv: str = "base",
    template: Any = None,
    success_retcodes: Any = None,
    success_stdout: Any = None,
    success_stderr: Any = None,
    use_vt: bool = False,
    bg: bool = False,
) -> Completed:
    """Run it. What Salt takes and this has no use for (log levels, encodings) is taken and does nothing."""
    from minion.machine.environment import environment
    from minion.machine.process import run as run_process

    if group is not None or clean_env or bg:
        raise CallFailed("group, clean_env and bg are not supported: see runas, env and cmd.run_bg")
    command: Any = [str(one) for one in cmd] if isinstance(cmd, list | tuple) else str(cmd)
    if template is not None and isinstance(command, str):
        command = context.machine.render_text(command, str(template), saltenv, {}).decode()
    if isinstance(command, str) and not python_shell:
        import shlex

        command = shlex.split(command)
    if umask is not None and isinstance(command, str):
        command = f"umask {int(str(umask), 8):04o}; {command}"
    variables = environment(env) or {}
    if prepend_path:
        variables["PATH"] = f"{prepend_path}:{variables.get('PATH') or _environ().get('PATH', '')}"
    done = run_process(
        command,
        cwd=None if cwd is None else str(cwd),
        env=variables,
        runas=None if runas is None else str(runas),
        timeout=None if timeout is None else float(timeout),
        stdin=None if stdin is None else str(stdin),
        shell=str(shell or "/bin/sh"),
    )
    done = _judged(done, success_retcodes, success_stdout, success_stderr)
    context.retcode = 0 if ignore_retcode else done.returncode
    if raise_err and done.returncode != 0:
        raise CallFailed(f"Command {cmd!r} failed with return code {done.returncode}: {_both(done)}")
    if hide_output:
        return Completed(returncode=done.returncode, stdout="", stderr="", pid=done.pid)
    return done


def _judged(done: Completed, retcodes: Any, stdout: Any, stderr: Any) -> Completed:
    """With exit code 0 where the caller counts this code or this output as success."""
    codes = retcodes if isinstance(retcodes, list) else [] if retcodes is None else [retcodes]
    said = {str(one) for one in stdout or ()}, {str(one) for one in stderr or ()}
    good = done.returncode in [int(one) for one in codes]
    if good or done.stdout.rstrip("\n") in said[0] or done.stderr.rstrip("\n") in said[1]:
        return Completed(returncode=0, stdout=done.stdout, stderr=done.stderr, pid=done.pid)
    return done


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
