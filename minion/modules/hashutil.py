"""The execution module `hashutil`, as far as it works with files and webhooks; the rest is the language's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.modules.file.look import expanded, get_hash


def digest_file(context: Context, infile: str, checksum: str = "md5") -> str:
    """Digest of a file; `checksum` names the algorithm."""
    if not expanded(infile).exists():
        raise CallFailed("File path could not be found.")
    return get_hash(context, infile, checksum)


def base64_encodefile(context: Context, fname: str) -> str:
    """A file as base64, with newlines."""
    import base64

    return base64.encodebytes(expanded(fname).read_bytes()).decode()


def base64_decodefile(context: Context, instr: str, outfile: str) -> bool:
    """Write what base64 stands for to a file."""
    import base64

    context.machine.write(str(expanded(outfile)), base64.b64decode(instr))
    return True


def github_signature(context: Context, string: str, shared_secret: str, challenge_hmac: str) -> bool:
    """Whether a webhook's signature, `sha1=…` or `sha256=…`, fits its body and the secret."""
    import hashlib
    import hmac

    form, _, digits = challenge_hmac.partition("=")
    if form not in hashlib.algorithms_guaranteed:
        raise CallFailed(f"{form!r} is no algorithm: a signature is sha1=… or sha256=…")
    made = hmac.new(shared_secret.encode(), string.encode(), form).hexdigest()
    return hmac.compare_digest(made, digits)


FUNCTIONS: Mapping[str, Any] = {
    "base64_decodefile": base64_decodefile,
    "base64_encodefile": base64_encodefile,
    "digest_file": digest_file,
    "github_signature": github_signature,
}
