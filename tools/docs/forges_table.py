"""Write the table of kinds into docs/forges.md, from their definitions.

.venv/bin/python -m tools.docs.forges_table
"""

from __future__ import annotations

from pathlib import Path

from controller.forges.addresses import Addresses
from controller.forges.forge import Forge, Webhooks
from controller.forges.generic import WEBHOOKS
from controller.forges.registry import all_forges
from controller.forges.verifiers import BasicPassword, SignatureHeader, TokenHeader, Verifier
from options.convert import kinds_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "forges.md"
BEGIN = "<!-- kinds: written by python -m tools.docs.forges_table -->\n"
END = "<!-- end of kinds -->\n"


def main() -> None:
    """Write the table."""
    PAGE.write_text(with_table(PAGE.read_text()))


def with_table(text: str) -> str:
    """The page with the table as the code has it."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + table() + END + after


def table() -> str:
    """The rows, one a kind, and that of other senders of webhooks."""
    head = "| `kind` | Forge | `api` | Own options | Proof of a webhook |\n|---|---|---|---|---|\n"
    rows = [_row(kind, forge) for kind, forge in all_forges().items()]
    return head + "".join(rows) + f"| | any other sender of webhooks | | | {_proofs(WEBHOOKS)} |\n"


def _row(kind: str, forge: Forge) -> str:
    own = ", ".join(f"`{name}`" for name in kinds_of(forge.options))
    return f"| `{kind}` | {forge.name} | {_api(forge.addresses)} | {own} | {_proofs(forge.webhooks)} |\n"


def _api(addresses: Addresses) -> str:
    shown = (addresses.public or addresses.example).removeprefix("https://")
    return (
        f"`{shown}`, or another with `{addresses.path}`" if addresses.public else f"needed: `{shown}{addresses.path}`"
    )


def _proofs(webhooks: Webhooks) -> str:
    return ", ".join(_proof(each) for each in webhooks.verifiers)


def _proof(verifier: Verifier) -> str:
    match verifier:
        case SignatureHeader(header):
            return f"signature in `{header.title()}`"
        case TokenHeader(header):
            return f"the secret in `{header.title()}`"
        case BasicPassword():
            return "the secret as the password of basic authentication"


if __name__ == "__main__":
    main()
