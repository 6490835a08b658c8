"""What a minion shall have, as messages: its documents, and the rules by which it acts alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import msgspec

from controller.reconcile.documents import Documents
from controller.sessions.outbox import MinionOutbox
from controller.sessions.sessions import Session
from controller.store import AppliedRecord, DesiredRecord
from reactors.confirmation import ConfirmRules, digest_of_confirm_rules
from reactors.remediation import AutonomyRules, digest_of_rules
from wire.messages import Autonomy, Confirmed


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSender:
    """Sends documents and rules, and notes at the connection what was sent.

    Called inside of `MinionOutbox.together`.
    """

    documents: Documents
    outbox: MinionOutbox

    def document(self, session: Session, document: DesiredRecord | AppliedRecord | None) -> None:
        """Send a document: the difference where what the minion holds is known. None: there is nothing to send."""
        if document is None:
            return
        message = self.documents.desire(document.generation, document.digest, session.held)
        self.outbox.send(session, message, partial(setattr, session, "sent_digest", document.digest))

    def autonomy(self, session: Session, rules: AutonomyRules | None) -> None:
        """Send by which rules a minion without a controller remediates; None: it does not."""
        digest, plain = digest_of_rules(rules), {} if rules is None else msgspec.to_builtins(rules)
        message = Autonomy(digest=digest, rules=plain)
        self.outbox.send(session, message, partial(setattr, session, "autonomy", digest))

    def confirmed(self, session: Session, rules: ConfirmRules | None) -> None:
        """Send what a minion goes back to when nobody confirms what it applies; None: it does not go back."""
        digest = digest_of_confirm_rules(rules)
        message = Confirmed(digest=digest)
        if rules is not None:
            # What was sent may not have come yet: then nobody knows what a patch would have to fit.
            held = session.held if session.sent_digest in ("", session.held) else ""
            document = self.documents.desire(0, rules.confirmed, held)
            plain = msgspec.to_builtins(rules)
            message = Confirmed(digest=digest, rules=plain, base=document.base, patch=document.patch)
        self.outbox.send(session, message, partial(setattr, session, "confirmed", digest))
