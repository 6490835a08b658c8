"""A rule of iptables as text, from the options that a state or `iptables.build_rule` is given. Pure.

Behaviour: doc/ref/modules/all/salt.modules.iptables, `build_rule`: names of options are iptables' long ones, those of
the jump stand last, `!` or `not` before a value negates it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from minion.machine.failure import StateFailed
from minion.machine.plan import Value

_NO_OPTIONS = frozenset(("name", "state", "chain", "save", "table", "family", "position", "command", "full"))
_BLANK = re.compile(r"\s")
_NEGATED = re.compile(r"(?:!\s*|not\s+)")
_NAMED_MATCHES = frozenset(("pknock", "quota2", "recent"))
"""Matches with an option `--name`, which states give as `name_`."""

_OF_THE_JUMP = tuple(
    """
    j jump add-set and-mark and-tos checksum-fill clamp-mss-to-pmtu clustermac ctevents ctmask del-set ecn-tcp-remove
    exist expevents gateway hash-init hashmode helper label local-node log-ip-options log-level log-prefix
    log-tcp-options log-tcp-sequence log-uid map-set mask mss new nfmask nflog-group nflog-prefix nflog-range
    nflog-threshold nodst notrack on-ip on-port or-mark or-tos persistent queue-balance queue-bypass queue-num random
    random-fully rateest-ewmalog rateest-interval rateest-name reject-with restore restore-mark sack-perm save-mark
    selctx set-class set-dscp set-dscp-class set-mark set-mss set-tos set-xmark strip-options timeout timestamp to
    to-destination to-ports to-source total-nodes tproxy-mark ttl-dec ttl-inc ttl-set type ulog-cprange ulog-nlgroup
    ulog-prefix ulog-qthreshold wscale xor-mark xor-tos zone zone-orig zone-reply dst-pfx hl-dec hl-inc hl-set
    hmark-dport-mask hmark-dst-prefix hmark-mod hmark-offset hmark-proto-mask hmark-rnd hmark-spi-mask
    hmark-sport-mask hmark-src-prefix hmark-tuple led-always-blink led-delay led-trigger-id queue-cpu-fanout src-pfx
    to-port addr and-mask delude honeypot or-mask prefix reset reuse set-mac shift static tarpit tname ttl
    """.split()  # noqa: SIM905  (a hundred names are read better so)
)
"""Options of the targets in iptables-extensions(8) and xtables-addons(8); the target itself comes first."""


def rule_text(options: Mapping[str, Value]) -> str:
    """The rule, as it stands behind the name of its chain. StateFailed for ports without a protocol."""
    left = {str(key): value for key, value in options.items() if key not in _NO_OPTIONS}
    if "target" in left:
        left["jump"] = left.pop("target")
    if "proto" in left and left.get("match") != "policy":
        left["protocol"] = left.pop("proto")
    words = [_option(f"-{flag}", left.pop(name)) for name, flag in _BEFORE if name in left]
    has_protocol = "protocol" in left
    if has_protocol:
        words.append(_option("-p", left.pop("protocol")))
    words += _matches(left)
    if "connstate" in left:
        words += [*_match("state", words), _option("--state", left.pop("connstate"))]
    words += [_option(f"--{name}", left.pop(name)) for name in ("dport", "sport") if name in left]
    for name in ("dports", "sports"):
        if name in left:
            if not has_protocol:
                raise StateFailed("Error: protocol must be specified")
            words += [*_match("multiport", words), *_ports(name, left.pop(name))]
    if "comment" in left:
        words += [*_match("comment", words), f"--comment {_quoted(str(left.pop('comment')))}"]
    if left.get("set"):
        words.append(_option("--match-set", left.pop("set")))
    jump = [_of_jump(name, left.pop(name)) for name in _OF_THE_JUMP if name in left]
    return " ".join([*words, *(_option(_flag(name), value) for name, value in left.items()), *jump])


_BEFORE = (("if", "i"), ("of", "o"))


def _matches(left: dict[str, Value]) -> list[str]:
    """`-m` of the matches that are named, each with what has to stand right behind it."""
    given = left.pop("match", None)
    words: list[str] = []
    for match in [] if given is None else given if isinstance(given, list) else str(given).split(","):
        words.append(f"-m {match}")
        if "name_" in left and str(match).strip() in _NAMED_MATCHES:
            words.append(f"--name {left.pop('name_')}")
    if given == "policy" and "proto" in left:
        words.append(_option("--proto", left.pop("proto")))
    sets = left.pop("match-set", ())
    return words + [f"-m set {_option('--match-set', one)}" for one in ([sets] if isinstance(sets, str) else sets)]


def _match(name: str, words: Sequence[str]) -> list[str]:
    """`-m` of a match, unless it is there."""
    return [] if f"-m {name}" in words else [f"-m {name}"]


def _ports(name: str, ports: Value) -> list[str]:
    """Ports of multiport; one that is negated negates all."""
    texts = [str(one) for one in ports] if isinstance(ports, list) else [str(ports)]
    negated = any(map(_NEGATED.match, texts))
    return [*(["!"] if negated else []), f"--{name} {','.join(_NEGATED.sub('', text, count=1) for text in texts)}"]


def _flag(name: str) -> str:
    return f"-{name}" if len(name) == 1 else f"--{name}"


def _option(flag: str, value: Value) -> str:
    """An option with its value, or alone when it has none."""
    text = "" if value is None else str(value)
    found = _NEGATED.match(text)
    return f"{'! ' if found else ''}{flag} {text[found.end() :] if found else text}".rstrip()


def _of_jump(name: str, value: Value) -> str:
    text = "" if value is None else str(value)
    return f"--{name} {_quoted(text) if _BLANK.search(text) else text}".rstrip()


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
