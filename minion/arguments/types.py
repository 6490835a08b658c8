"""Types that a parameter of a state or an execution function may have, and how a value of SLS or the CLI becomes one.

    def managed(machine: Reader, name: str, *, mode: Mode | None = None, makedirs: bool = False,
                source: Texts = (), selinux: Annotated[Value, Refused("call restorecon")] = None) -> Plan: ...

`str`, `bool`, `int`, `float` and `Literal` may stand as they are, `Value` takes anything, `X | None` null as well.
Null for a parameter that does not take it stands for its default. Converters do what Salt's functions do with the
value; where Salt would fail or go on with something else, they raise `Unfit`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Annotated, Any

Value = Any
"""Any value that YAML and msgpack know."""

Converter = Callable[[Any], Any]


class Unfit(Exception):
    """The value is none of this type; the text says what it must be: `octal digits, as in '0644'`.

    `comment` is the whole comment where Salt has another one; `{name}` and `{value}` in it are filled in.
    """

    def __init__(self, wanted: str, comment: str = "") -> None:
        super().__init__(wanted)
        self.comment = comment


# The marks are plain classes: the methods that a dataclass generates would take 2 % of the start of `saltern call`.


class Reads:
    """In `Annotated`: the function that turns a value into the type. `null`: it is given null, too."""

    __slots__ = ("convert", "null")

    def __init__(self, convert: Converter, null: bool = False) -> None:
        self.convert = convert
        self.null = null


class Ignored:
    """In `Annotated`: an argument of Salt's that is accepted and does nothing, and why."""

    __slots__ = ("why",)

    def __init__(self, why: str) -> None:
        self.why = why


class Unsupported:
    """In `Annotated`: an argument of Salt's that is not supported; `instead`: what to do. A false value is accepted."""

    __slots__ = ("instead",)

    def __init__(self, instead: str) -> None:
        self.instead = instead


class _Supplied:
    """In `Annotated`: the caller's engine supplies it; it is no argument of the SLS."""


SUPPLIED = _Supplied()


def as_text(value: Any) -> str:
    """Text, or the text of a number, a boolean or a date."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, list | tuple | set | Mapping):
        raise Unfit("text")
    return str(value)


def as_text_or_false(value: Any) -> str:
    """Text; False stands for an empty one."""
    return "" if value is False or value is None else as_text(value)


def as_number_or_text(value: Any) -> str:
    """Text, or the text of a number."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise Unfit("text")
    return str(value)


def as_bool(value: Any) -> bool:
    """What Python takes for true, as Salt's functions do: each text that is not empty, `'False'` too."""
    if isinstance(value, list | Mapping):
        raise Unfit("true or false")
    return bool(value)


def only_bool(comment: str = "") -> Converter:
    """A converter that takes true and false alone. `comment`: what Salt says of anything else."""

    def convert(value: Any) -> bool:
        if isinstance(value, bool):
            return value
        raise Unfit("True or False", comment)

    return convert


def as_true(value: Any) -> bool:
    """What `salt.utils.data.is_true` takes for true: a positive number, `true`, or a text such as `'True'` or `'1'`."""
    if isinstance(value, str):
        text = value.strip()
        if text.lower() == "true":
            return True
        try:
            return float(text) > 0
        except ValueError:
            return False
    return value > 0 if isinstance(value, int | float) else bool(value)


def as_word(value: Any) -> bool:
    """True for `true`, `yes`, `on` and `1`, text or not, in any case."""
    return value.strip().lower() in ("true", "yes", "on", "1") if isinstance(value, str) else as_bool(value)


def as_integer(value: Any) -> int:
    """A whole number, or its text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if (isinstance(value, float) and value.is_integer()) or isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            pass
    raise Unfit("a number")


def as_id(value: Any) -> int | None:
    """The number of a user or group; None where it is empty."""
    if value == "":
        return None
    if isinstance(value, bool) or not str(value).isdigit():
        raise Unfit("a number")
    return int(value)


def as_id_or_name(value: Any) -> int | str | None:
    """The number of a group, or its name; None where it is empty."""
    if isinstance(value, bool | list | Mapping):
        raise Unfit("a number or a name")
    text = str(value)
    return int(text) if text.isdigit() else text or None


def as_integers(value: Any) -> tuple[int, ...]:
    """Numbers of a list; one is a list of it, null an empty one."""
    if value is None:
        return ()
    return tuple(map(as_integer, value if isinstance(value, list | tuple) else (value,)))


def as_timeout(value: Any) -> float | None:
    """Seconds; what is false is no limit. Worded as Salt does."""
    if not value:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise Unfit("a number", "Error: timeout {value} must be a number")
    return float(value)


def number_of(unit: str) -> Converter:
    """A converter of numbers, or their text, that count this unit: `a number of UNIT`."""

    def convert(value: Any) -> float:
        if not isinstance(value, bool):
            try:
                return float(value)
            except (TypeError, ValueError):
                pass
        raise Unfit(f"a number of {unit}" if unit else "a number")

    return convert


def as_path(value: Any) -> str:
    """Text that is not empty."""
    if isinstance(value, str) and value:
        return value
    raise Unfit("a path")


def as_owner(value: Any) -> str | None:
    """The name or number of a user or group as text; None where it is empty."""
    if isinstance(value, str):
        return value or None
    if isinstance(value, bool) or not isinstance(value, int):
        raise Unfit("a name or a number")
    return str(value)


def as_mode(value: Any) -> str | None:
    """Four octal digits of a mode as YAML gives it (`0644`, `'0644'`, `644`, `'0o644'`); None for `keep`."""
    if type(value) is str and len(value) == 4 and not value.strip("01234567"):
        return value
    if value == "keep":
        return None
    text = str(value).strip()
    digits = text.removeprefix("0o").lstrip("0") or "0"
    if isinstance(value, bool) or len(digits) > 4 or any(c not in "01234567" for c in digits):
        raise Unfit("octal digits, as in '0644'")
    return digits.zfill(4)


def as_mode_or_keep(value: Any) -> str:
    """Four octal digits, or `keep`."""
    return as_mode(value) or "keep"


def as_texts(value: Any) -> tuple[str, ...]:
    """Texts of a list; one text or number is a list of it, null an empty one."""
    if value is None:
        return ()
    try:
        return tuple(map(as_text, value if isinstance(value, list | tuple | set) else (value,)))
    except Unfit:
        raise Unfit("text, or a list of texts") from None


def as_lines(value: Any) -> tuple[str, ...]:
    """Texts or numbers of a list; one is a list of it, null an empty one."""
    if value is None:
        return ()
    return tuple(map(as_number_or_text, value if isinstance(value, list | tuple) else (value,)))


def as_comma_list(value: Any) -> tuple[str, ...]:
    """Texts of a list, or of one text that separates them by commas."""
    if isinstance(value, str):
        return tuple(part for part in map(str.strip, value.split(",")) if part)
    return as_texts(value)


def as_scalar(value: Any) -> Any:
    """One value as YAML read it: text, a number, a boolean or a date."""
    if isinstance(value, list | tuple | set | Mapping):
        raise Unfit("one value")
    return value


def as_list(value: Any) -> list[Any]:
    """A list; null is an empty one."""
    if value is None:
        return []
    if isinstance(value, list):
        return value
    if isinstance(value, tuple | set):
        return list(value)
    raise Unfit("formatted as a list")


def as_list_of_texts(value: Any) -> tuple[str, ...]:
    """Texts of a list; null is an empty one."""
    return as_texts(as_list(value))


def as_each(value: Any) -> list[Any]:
    """A list; one value is a list of it, null an empty one."""
    return value if isinstance(value, list) else [] if value is None else [value]


def as_mapping(value: Any) -> Mapping[str, Any]:
    """A mapping; what is false is an empty one."""
    return _mapping(value, "a mapping")


def as_context(value: Any) -> Mapping[str, Any]:
    """A mapping of variables for a template; what is false is an empty one. Worded as Salt does."""
    return _mapping(value, "", "{name} must be formed as a dict")


def as_script_context(value: Any) -> Mapping[str, Any]:
    """As `as_context`, in the words of cmd.script."""
    return _mapping(value, "", "Invalidly-formatted '{name}' parameter. Must be formed as a dict.")


def _mapping(value: Any, wanted: str, comment: str = "") -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    if value:
        raise Unfit(wanted, comment)
    return {}


def as_pairs(value: Any) -> Mapping[str, Any]:
    """A mapping, or a list of mappings that are taken as one (`salt.utils.data.repack_dictlist`)."""
    if isinstance(value, list) and all(isinstance(one, Mapping) for one in value):
        return {key: one for each in value for key, one in each.items()}
    try:
        return as_mapping(value)
    except Unfit:
        raise Unfit("a mapping, or a list of mappings") from None


def as_text_pairs(value: Any) -> Mapping[str, str]:
    """As `as_pairs`, keys and values as text."""
    return {str(key): str(one) for key, one in as_pairs(value).items()}


def as_variables(value: Any) -> Mapping[str, Any]:
    """Variables of an environment, as `as_pairs`; what is false is none."""
    try:
        return as_pairs(value)
    except Unfit:
        raise Unfit("", "{name} must be a mapping, or a list of mappings, of names to values") from None


_SIZE = r"\s*([0-9]+(?:\.[0-9]*)?)\s*([bkmgt]?)i?b?\s*"
_UNITS = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def as_size(value: Any) -> int:
    """Bytes; a text may end in a unit: `10m`, `1.5GiB`."""
    found = re.fullmatch(_SIZE, str(value).lower())
    if found is None:
        raise Unfit("a number of bytes, or such as 10m")
    return int(float(found[1]) * _UNITS[found[2] or "b"])


NumberOrText = Annotated[str, Reads(as_number_or_text)]
"""Text; a boolean is refused, since YAML reads `yes`, `no`, `on` and `off` as one."""
TextOrFalse = Annotated[str, Reads(as_text_or_false, null=True)]
"""Text; false and null are an empty one."""
IsTrue = Annotated[bool, Reads(as_true, null=True)]
"""A boolean where Salt asks `salt.utils.data.is_true`; `bool` is what Python takes for true."""
OnlyBool = Annotated[bool, Reads(only_bool(), null=True)]
Word = Annotated[bool, Reads(as_word, null=True)]
"""A boolean that Salt reads from words, too."""
Path = Annotated[str, Reads(as_path)]
Owner = Annotated[str, Reads(as_owner)]
"""A user or group; use it as `Owner | None`."""
Mode = Annotated[str, Reads(as_mode)]
"""Four octal digits; use it as `Mode | None`: `keep` is None."""
ModeOrKeep = Annotated[str, Reads(as_mode_or_keep)]
Texts = Annotated[tuple[str, ...], Reads(as_texts, null=True)]
LinesOfText = Annotated[tuple[str, ...], Reads(as_lines, null=True)]
"""As `Texts`; a boolean is refused."""
CommaList = Annotated[tuple[str, ...], Reads(as_comma_list, null=True)]
List = Annotated[list[Any], Reads(as_list, null=True)]
ListOfTexts = Annotated[tuple[str, ...], Reads(as_list_of_texts, null=True)]
"""As `Texts`; a text alone is refused."""
Each = Annotated[list[Any], Reads(as_each, null=True)]
"""One value or many."""
Map = Annotated[Mapping[str, Any], Reads(as_mapping, null=True)]
Context = Annotated[Mapping[str, Any], Reads(as_context, null=True)]
ScriptContext = Annotated[Mapping[str, Any], Reads(as_script_context, null=True)]
Pairs = Annotated[Mapping[str, Any], Reads(as_pairs, null=True)]
TextPairs = Annotated[Mapping[str, str], Reads(as_text_pairs, null=True)]
Variables = Annotated[Mapping[str, Any], Reads(as_variables, null=True)]
"""`env` of a command."""
Id = Annotated[int, Reads(as_id)]
"""The number of a user or group; use it as `Id | None`."""
IdOrName = Annotated[int | str, Reads(as_id_or_name)]
Integers = Annotated[tuple[int, ...], Reads(as_integers, null=True)]
Timeout = Annotated[float, Reads(as_timeout)]
"""Seconds; use it as `Timeout | None`: 0 is no limit."""
Size = Annotated[int, Reads(as_size)]
Seconds = Annotated[float, Reads(number_of("seconds"))]
Days = Annotated[float, Reads(number_of("days"))]
Scalar = Annotated[Value, Reads(as_scalar)]
"""Text, a number, a boolean or a date, whose type counts."""
AnyValue = Value
"""Of a parameter that Salt takes any value for: what is kept, compared, sent or given back as it is."""

TemplateVariables = Annotated[Mapping[str, Any] | None, SUPPLIED]
"""Arguments that the state has no use for itself: its template sees them by their names."""
StateId = Annotated[str, SUPPLIED]
"""The ID of the state."""
BackupDir = Annotated[str, SUPPLIED]
"""Where `backup: minion` keeps what it replaces."""
Requirers = Annotated[Sequence[tuple[str, str]], SUPPLIED]
"""State and name of what the chunk requires, or is required in."""
ChangedRequisites = Annotated[Value, SUPPLIED]
"""Of a mod_watch: the watched chunks with changes."""
ToCome = Annotated[Collection[tuple[str, str]], SUPPLIED]
"""Under test=True: state module and name of what an earlier state of the run would change; else nothing."""
WatchedFun = Annotated[str, SUPPLIED]
"""Of a mod_watch: the function of the chunk that watches."""

WindowsOnly = Annotated[Value, Ignored("it is for Windows")]
