"""Commands that a machine's own shell runs (`saltern ssh -r`), without an agent and without Python there."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from controller.schema.fleet.ssh import SshRawView
from controller.ssh.command import SUDO_PROMPT, HostKeys, SshCommands, raw_line
from controller.ssh.target import SshTarget
from controller.ssh.visit import Visit, VisitFailed, end_ssh, explain, start_ssh

OF_SSH = 255
"""The exit code of ssh itself."""
_DEPLOY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class RawCommand:
    """A command line, and what it may cost."""

    line: str
    host_keys: HostKeys
    seconds: float
    """That it may take."""
    most_output: int
    """Bytes that are kept, of standard output and of standard error."""

    async def on(self, target: SshTarget, commands: SshCommands) -> SshRawView:
        """Run it on a machine."""
        try:
            process = await start_ssh(commands, target, raw_line(target, self.line), self.host_keys)
        except VisitFailed as failed:
            return SshRawView(minion=target.id, retcode=OF_SSH, error=f"{failed}; {failed.hint}")
        given = target.passwd.encode() + b"\n" if target.sudo and target.passwd else b""
        try:
            async with asyncio.timeout(target.timeout + self.seconds):
                out, err = await self._communicate(process, given, when_asked=target.tty)
        except TimeoutError:
            return SshRawView(
                minion=target.id, retcode=OF_SSH, error=f"no end within {target.timeout + self.seconds:g} s"
            )
        finally:
            await end_ssh(process)
        code = process.returncode or 0
        error = str(explain(target, code, err)) if code == OF_SSH else ""
        return SshRawView(minion=target.id, retcode=code, stdout=out, stderr=err, error=error)

    async def _communicate(
        self, process: asyncio.subprocess.Process, given: bytes, *, when_asked: bool
    ) -> tuple[str, str]:
        """What it prints. `when_asked`: a terminal would show a password that comes before it is asked for."""
        assert process.stdin  # noqa: S101 - a pipe, as the next two
        assert process.stdout  # noqa: S101
        assert process.stderr  # noqa: S101
        before = bytearray()
        if when_asked and given:
            before = await self._answered(process.stdout, process.stdin, given)
        else:
            process.stdin.write(given)
        if not when_asked:  # the end of the input of a terminal would be the end of the session
            process.stdin.close()
        out, err = await asyncio.gather(self._kept(process.stdout, before), self._kept(process.stderr, bytearray()))
        await process.wait()
        return out, err

    async def _answered(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, given: bytes
    ) -> bytearray:  # fmt: skip
        """What comes before sudo asks, which is answered; all of it where it does not ask."""
        prompt, before = SUDO_PROMPT.encode(), bytearray()
        while len(before) <= self.most_output and (data := await reader.read(4096)):
            before += data
            if prompt in before:
                writer.write(given)
                ended = await reader.read(1)  # the line of the question
                return before.replace(prompt, b"", 1) + (b"" if ended == b"\n" else ended)
        return before

    async def _kept(self, reader: asyncio.StreamReader, kept: bytearray) -> str:
        while data := await reader.read(64 * 1024):
            kept += data[: max(0, self.most_output - len(kept))]
        return kept.decode("utf-8", "replace")


async def deploy_key(target: SshTarget, host_keys: HostKeys, commands: SshCommands, most_output: int) -> None:
    """Put the controller's public key into the user's `authorized_keys` there. Raises VisitFailed."""
    public = commands.own_key.with_suffix(".rsa.pub")
    text = (await asyncio.to_thread(public.read_text, "utf-8")).strip()
    line = (
        "umask 077; mkdir -p ~/.ssh && touch ~/.ssh/authorized_keys && "
        f"{{ grep -qxF '{text}' ~/.ssh/authorized_keys || echo '{text}' >> ~/.ssh/authorized_keys; }}"
    )
    done = await RawCommand(line, host_keys, _DEPLOY_SECONDS, most_output).on(replace(target, sudo=False), commands)
    if done.retcode:
        raise VisitFailed(done.error or done.stderr.strip() or "the key could not be put there")


async def wipe(visit: Visit, seconds: float) -> SshRawView:
    """Remove the worker and the minion's files there."""
    minion = visit.target.id
    try:
        async with asyncio.timeout(visit.target.timeout + seconds):
            await visit.run()
    except (VisitFailed, TimeoutError) as error:
        return SshRawView(minion=minion, retcode=OF_SSH, error=str(error) or "no end in time")
    return SshRawView(minion=minion, retcode=0)
