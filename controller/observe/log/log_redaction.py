"""Takes secrets out of lines of the controller's log, whatever has brought them there.

What comes in from minions and compiles is redacted where it comes in (`controller.observe.redactor`); an error of a
library or a traceback may hold a text of a template all the same. Called for each line: what is asked of the store is
kept, and nothing here waits for another thread.
"""

from __future__ import annotations

from typing import Any

from controller.observe.redactor import Redactor
from controller.store import StoreError
from highstate.redaction import Redaction

FREE = frozenset(("comment", "error", "errors", "keys", "msg", "output", "reason", "states", "text", "traceback"))
"""Fields with texts of anybody; others are ids, names, numbers and words of ours."""
WITHHELD = "(not shown: whether it holds a secret cannot be looked up now)"


class LogRedaction:
    """Makes of the fields of a line those that may be shown. May be called from any thread.

    Args:
        redactor: knows the secrets.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._by_name = Redaction({})

    def __call__(self, fields: dict[str, Any]) -> dict[str, Any]:
        """The fields, without the secrets of the minion that they name; what is called a secret has no value."""
        fields = {name: self._by_name.named(name, value) for name, value in fields.items()}
        free = FREE & fields.keys()
        if not free:
            return fields
        minion = fields.get("minion")
        if isinstance(minion, str):
            redaction = self._redactor.at_once(minion)
            masked = {name: WITHHELD if redaction is None else redaction.value(fields[name]) for name in free}
        else:
            masked = {name: self._of_nobody(fields[name]) for name in free & {"traceback", "msg"}}
        return fields | masked

    def _of_nobody(self, text: Any) -> Any:
        try:
            return self._redactor.of_nobody(text) if isinstance(text, str) else text
        except StoreError:
            return text  # without a store nothing was compiled: it is the error of the store itself
