"""`require_in`, `watch_in`, `onchanges_in`, `onfail_in`, `prereq_in`, `use` and `use_in`: turned into extends.

Called by `compile_minion` after `verify`; the extends that result go through `apply_extends(strict=True)`. It changes
no body itself. Source: salt/state.py `requisite_in`. `listen_in` is left in the chunk: it is the run stage's affair.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator

from highstate.compile.extend import find_ids
from highstate.compile.high import Body, Extend, High, first_key, states_of
from highstate.compile.positions import SourceLocation, near
from highstate.types import Value

_IN = frozenset(("require_in", "watch_in", "onfail_in", "onchanges_in", "prereq_in"))
_USES = frozenset(("use", "use_in"))
_WORKED_IN = _IN | _USES
_NOT_USED = _IN | _USES | {"require", "watch", "prereq", "onfail", "onfail_stop", "onchanges", "name", "names"}
"""Arguments that `use` does not copy."""

Target = tuple[str, str]
"""(ID or name, state)"""


def requisites_in(high: High, disabled: Collection[str] = ()) -> None:
    """Fill `high.extends` with what the `_in` requisites and `use` of all declarations ask for."""
    extends: dict[str, Extend] = {}
    for id_, state, run in high.declarations():
        for argument in run:
            if isinstance(argument, dict) and not _WORKED_IN.isdisjoint(argument):
                key = first_key(argument)
                if key in _WORKED_IN and key not in disabled:
                    _Statement(high, extends, id_, state, key).expand(argument[key])
    high.extends = list(extends.values())


class _Statement:
    """One such statement: who says it, and the extends that it adds to."""

    def __init__(self, high: High, extends: dict[str, Extend], id_: str, state: str, key: str) -> None:
        self.high = high
        self.extends = extends
        self.id = id_
        self.state = state
        self.key = key

    @property
    def location(self) -> SourceLocation:
        """Where it is written."""
        return self.high.location(self.id).below(self.state, self.key)

    def expand(self, items: Value) -> None:
        """Add an extend for each target of the statement; one that is empty has none, whatever its form."""
        if not items:
            return
        if isinstance(items, dict) and self.key in _IN:
            for state, name in items.items():
                self._add(self._checked(name, state))
            return
        if not isinstance(items, list):
            where = f"in state {self.id!r} in SLS {self.location.sls!r}"
            self._problem(f"The {self.key} statement {where} needs to be formed as a list")
            return
        # Salt goes over all the targets so far for each item, so that early ones are required once an item;
        # the doubles are harmless, and part of the low chunks that users compare.
        targets: list[Target | None] = []
        for item in items:
            found = list(self._targets(item))
            is_sls = isinstance(item, dict) and first_key(item) == "sls"
            targets = found if is_sls else targets + found
            if found or is_sls:
                for target in targets:
                    self._add(target)

    def _targets(self, item: Value) -> Iterator[Target | None]:
        if isinstance(item, dict):
            if not item:
                return
            state = next(iter(item))
            if state == "sls":
                yield from self._declared_in(item[state])
            else:
                yield self._checked(item[state], state)
            return
        target = self._by_name(item)
        if target is None:
            hint = near(item, self.high.bodies) if isinstance(item, str) else ""
            warning = self.location.problem(f"{self.key} of ID {self.id!r}: there is no state {item!r}", hint=hint)
            self.high.warnings.append(warning)
            return
        yield target

    def _checked(self, name: Value, state: Value) -> Target | None:
        if not isinstance(name, Hashable) or not isinstance(name, str) or not isinstance(state, str):
            self._problem(f"{self.key} of ID {self.id!r}: {{{state!r}: {name!r}}} is not a state and an ID")
            return None
        if "." in state:
            self._problem(
                f"Invalid requisite type {state!r} in {self.key} of ID {self.id!r}: "
                "requisite types must not contain dots",
                hint=f"did you mean {state.split('.')[0]!r}?",
            )
            return None
        return name, state

    def _declared_in(self, sls: Value) -> Iterator[Target]:
        for id_, body in self.high.bodies.items():
            if body.get("__sls__") == sls:
                for state in states_of(body):
                    yield id_, state

    def _by_name(self, name: Value) -> Target | None:
        if not isinstance(name, str):
            return None
        if name in self.high.bodies:
            states = states_of(self.high.bodies[name])
            return (name, states[0]) if states else None
        for id_, state, run in self.high.declarations():
            if any(isinstance(argument, dict) and argument.get("name") == name for argument in run):
                return id_, state
        return None

    def _add(self, target: Target | None) -> None:
        if target is None:
            return
        match self.key:
            case "use":
                for source in find_ids(self.high, *target, strict=True):
                    self._copy((source, target[1]), (self.id, self.state))
            case "use_in":
                for user in find_ids(self.high, *target, strict=True):
                    self._copy((self.id, self.state), (user, target[1]))
            case _:
                self._require(target)

    def _require(self, target: Target) -> None:
        requisite = self.key.split("_")[0]
        arguments = self._extension(target)
        body = self.extends[target[0]].body
        own = self.high.bodies[self.id]
        body["__env__"], body["__sls__"] = own["__env__"], own["__sls__"]
        for argument in arguments:
            if first_key(argument) == requisite:
                argument[requisite].append({self.state: self.id})
                return
        arguments.append({requisite: [{self.state: self.id}]})

    def _copy(self, source: Target, user: Target) -> None:
        kept = _NOT_USED | {
            first_key(argument)
            for argument in self.high.bodies[user[0]][user[1]]
            if isinstance(argument, dict) and len(argument) == 1
        }
        self._extension(user).extend(
            argument
            for argument in self.high.bodies[source[0]][source[1]]
            if isinstance(argument, dict) and len(argument) == 1 and first_key(argument) not in kept
        )

    def _extension(self, target: Target) -> list[Value]:
        """The arguments that are being added to a target."""
        name, state = target
        extend = self.extends.get(name)
        if extend is None:
            extend = self.extends[name] = Extend(id=name, body={}, location=self.location)
        body: Body = extend.body
        arguments: list[Value] = body.setdefault(state, [])
        return arguments

    def _problem(self, message: str, hint: str = "") -> None:
        self.high.problems.append(self.location.problem(message, hint=hint))
