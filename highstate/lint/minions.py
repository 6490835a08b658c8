"""The minions that there are, where somebody says so: whether a target reaches any of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from highstate.types import Value
from matching.matcher import Matcher
from options.near_names import did_you_mean


@dataclass(frozen=True, slots=True)
class KnownMinions:
    """Ids of all minions; none: nothing is known of them."""

    ids: Sequence[str] = ()

    def why_nobody(self, tgt: Value, kind: str) -> tuple[str, str]:
        """(why a target reaches no minion, what may have been meant); ("", "") where it may reach one.

        Targets that ask for more than ids are taken to reach somebody.
        """
        if not self.ids or not isinstance(tgt, str | list) or kind not in ("glob", "list", "pcre"):
            return "", ""
        if kind == "list" or isinstance(tgt, list):
            names = tgt if isinstance(tgt, list) else tgt.split(",")
            missing = [str(name).strip() for name in names if str(name).strip() not in self.ids]
            if not missing or len(missing) < len(names):
                return "", ""
            return f"no minion is named {', '.join(missing)}", did_you_mean(missing[0], self.ids)
        matcher = Matcher()
        compare = matcher.glob if kind == "glob" else matcher.matches
        if any(compare(tgt, one) for one in self.ids):
            return "", ""
        return f"no minion matches {tgt!r}", did_you_mean(tgt, self.ids)
