"""Rules of the policy of the base that a change breaks, and what the head would change in them. Pure.

Called by `preview` with the parts of the report.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from controller.policy.policy import PreviewPolicy
from controller.schema.reports import ChangeClass, ServiceRestart, Violation
from highstate.patterns import fits

_ACTS = ("restart", "stop")


def violations(
    policy: PreviewPolicy, classes: Sequence[ChangeClass], restarts: Sequence[ServiceRestart]
) -> tuple[Violation, ...]:
    """All rules that are broken, each once."""
    return (
        *_too_many(policy, classes),
        *_forbidden(policy, classes),
        *_irreversible(policy, classes),
        *_whole_groups(policy, restarts),
    )


def _too_many(policy: PreviewPolicy, classes: Sequence[ChangeClass]) -> Iterator[Violation]:
    count = sum(len(each.minions) for each in classes)
    if policy.max_minions is not None and count > policy.max_minions:
        text = f"{count} minions would change, {policy.max_minions} are allowed"
        yield Violation(rule="previews.max_minions", message=text)


def _forbidden(policy: PreviewPolicy, classes: Sequence[ChangeClass]) -> Iterator[Violation]:
    found: dict[str, set[str]] = {}
    for each in classes:
        for resource in each.resources:
            if resource.action != "removed" and fits(resource.function, policy.forbid):
                found.setdefault(resource.title, set()).update(each.minions)
    for title, minions in found.items():
        yield Violation(rule="previews.forbid", message=f"{title} is forbidden ({_counted(len(minions), 'minion')})")


def _irreversible(policy: PreviewPolicy, classes: Sequence[ChangeClass]) -> Iterator[Violation]:
    titles = list(dict.fromkeys(one.title for each in classes for one in each.resources if one.irreversible))
    if policy.irreversible == "approve" and titles:
        more = f" and {len(titles) - 3} more" if len(titles) > 3 else ""
        text = f"a revert does not take back {', '.join(titles[:3])}{more}"
        yield Violation(rule="previews.irreversible", message=text, approvable=True)


def _whole_groups(policy: PreviewPolicy, restarts: Sequence[ServiceRestart]) -> Iterator[Violation]:
    for each in restarts if policy.whole_group == "approve" else ():
        if each.action in _ACTS and each.whole_groups:
            text = f"{each.action} of {each.service} on all of {', '.join(each.whole_groups)}"
            yield Violation(rule="previews.whole_group", message=text, approvable=True)


def unchecked(policy: PreviewPolicy, cut: int, not_run: int) -> tuple[Violation, ...]:
    """That rules about states cannot be checked, as states are left out of the report.

    Args:
        policy: of the base.
        cut: minions of which states are left out.
        not_run: minions whose states Python of the tree makes that is not run.
    """
    rules = ["previews.forbid"] if policy.forbid else []
    rules += ["previews.irreversible"] if policy.irreversible == "approve" else []
    texts = [f"more states change on {_counted(cut, 'minion')} than a preview looks at"] if cut else []
    texts += (
        [f"the preview does not run the Python that makes states of {_counted(not_run, 'minion')}"] if not_run else []
    )
    return tuple(Violation(rule=rule, message=f"cannot be checked: {text}") for rule in rules for text in texts)


def changed_rules(base: PreviewPolicy, head: PreviewPolicy) -> tuple[str, ...]:
    """What the head would change in these rules, a text each: it holds from the merge on."""
    texts = []
    for name in base.__struct_fields__:
        before, after = getattr(base, name), getattr(head, name)
        if before != after:
            texts.append(f"saltern.yaml: previews.{name}: {_text(before)} -> {_text(after)}, from the merge on")
    return tuple(texts)


def _text(value: object) -> str:
    return "(none)" if value is None else value if isinstance(value, str) else json.dumps(value)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
