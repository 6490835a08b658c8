"""Write docs/reference/settings.md from the types of the options: each with its values and its default.

.venv/bin/python -m tools.docs.settings_reference
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from controller.config.access import OPTIONS as ACCESS
from controller.config.api import ApiSettings, OidcOptions, TlsOptions
from controller.config.sections import PortOptions, RendererOptions, TreeOptions
from controller.config.settings import LANGUAGE, OWN, PORTS, RENDERERS, ROOTS, ControllerSettings
from controller.forges.kind_names import KINDS
from controller.forges.registry import forge_of
from controller.forges.settings import ForgeSettings
from gateway.settings import RULES as GATEWAY
from gateway.settings import GatewaySettings
from highstate.compile_options import CompileOptions
from minion.config.group_rules import GROUPS
from minion.config.groups import DEFAULT_OPTIONS
from minion.config.rules import ALIASES, RULES
from minion.config.settings import MinionSettings
from minion.relay.settings import RULES as RELAY
from minion.relay.settings import RelaySettings
from options.convert import kinds_of
from options.kinds import Prepare, Wanted

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "settings.md"
_HEAD = """# Configuration reference

<!-- written by python -m tools.docs.settings_reference -->

Every option of `/etc/saltern/controller`, `/etc/saltern/minion`, `/etc/saltern/relay` and `/etc/saltern/gateway`
with the values that are accepted and its default, from the types by which the programs read them.
[configuration.md](../configuration.md) says what they mean, and has the options of git remotes. The limits (`limits`)
are in a [table of their own](../security.md#limits). `schedule`, `reactor`, `rules`, `engines`, `notifications` and the
options of [returners](../returners.md) are on the pages about these.

A list may be written as one word where it has one item.
"""
_PLAIN = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    Path: "a path",
    Any: "any value",
}
_ELSEWHERE = ("previews", "own", "place", "tls", "oidc")
"""Fields that are options of their own sections, or no options."""


def main() -> None:
    """Write the page."""
    PAGE.write_text(page())


def page() -> str:
    """The whole page as the code has it."""
    language = {**_defaults(CompileOptions), "state_top_saltenv": "base"}
    trees = {**_defaults(PortOptions), **_defaults(RendererOptions), **_defaults(TreeOptions)}
    parts = [
        _HEAD,
        "\n## Controller\n\n",
        _table(OWN, _defaults(ControllerSettings)),
        f"\n[access.md](../access.md) has {', '.join(f'`{name}`' for name in sorted(ACCESS))}.\n",
        "\n### api\n\n",
        _table(_fields(ApiSettings), _defaults(ApiSettings)),
        "\n### api: tls\n\n",
        _table(kinds_of(TlsOptions), _defaults(TlsOptions)),
        "\n### api: oidc\n\n",
        _table(kinds_of(OidcOptions), _defaults(OidcOptions)),
        "\n### forges\n\nOf each forge; `previews` has defaults of [saltern.yaml](../policy.md).\n\n",
        _table(_fields(ForgeSettings), _defaults(ForgeSettings)),
        *_of_forges(),
        "\n### Trees and modules\n\n",
        _table({**PORTS, **RENDERERS, **ROOTS}, trees),
        "\n### The language\n\n",
        _table(LANGUAGE, language),
        "\n## Minion\n\n",
        f"Other names: {', '.join(f'`{name}` for `{option}`' for name, option in sorted(ALIASES.items()))}.\n\n",
        _table(RULES, MinionSettings(id="")._asdict()),
        "\n### Parts of the minion\n\n",
        _table(*_grouped()),
        "\n## Relay\n\n",
        _table(RELAY, RelaySettings(id="")._asdict()),
        "\n## Gateway\n\n",
        _table(GATEWAY, dataclasses.asdict(GatewaySettings(id="`gateway-` and the "))),
    ]
    return "".join(parts)


def _of_forges() -> list[str]:
    kinds = {kind: kinds_of(forge_of(kind).options) for kind in KINDS}
    return [
        f"\nOf the kind `{kind}` also:\n\n{_table(own, _defaults(forge_of(kind).options))}"
        for kind, own in kinds.items()
        if own
    ]


def _grouped() -> tuple[dict[str, Any], dict[str, Any]]:
    """Types and defaults of the options that set a field of a group, but for those that are above."""
    kinds: dict[str, Any] = {}
    defaults: dict[str, Any] = {}
    for group, (_, rules) in GROUPS.items():
        for option, (field, kind) in rules.items():
            if option not in RULES and option not in ALIASES:
                kinds[option] = kind
                defaults[option] = getattr(getattr(DEFAULT_OPTIONS, group), field)
    return kinds, defaults


def _fields(settings: type) -> dict[str, Any]:
    return {name: kind for name, kind in kinds_of(settings).items() if name not in _ELSEWHERE}


def _defaults(settings: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in dataclasses.fields(settings):
        if field.default is not dataclasses.MISSING:
            found[field.name] = field.default
        elif field.default_factory is not dataclasses.MISSING:
            found[field.name] = field.default_factory()
    return found


def _table(kinds: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    rows = (f"| `{name}` | {_cell(_values(kind))} | {_shown(name, defaults)} |\n" for name, kind in kinds.items())
    return "| Option | Values | Default |\n|---|---|---|\n" + "".join(rows)


def _values(kind: Any) -> str:
    """What a type accepts, in words: those that a fault says, else those of the plain type."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        said = [each.description for each in arguments[1:] if isinstance(each, Wanted)]
        said = said or [text for each in arguments[1:] if isinstance(each, Prepare) and (text := _refusal(each))]
        return said[-1].replace("True or False", "true or false") if said else _values(arguments[0])
    if origin in (Union, UnionType):
        return " or ".join("empty" if each is NoneType else _values(each) for each in arguments)
    if origin is Literal:
        return "one of " + ", ".join(str(each) for each in arguments)
    if origin is tuple:
        return "a list"
    if origin is not None:
        return "a mapping"
    return _PLAIN.get(kind, "a mapping")


def _refusal(step: Prepare) -> str:
    """What it says of a value that nothing can be made of."""
    try:
        step.prepare(object())
    except (ValueError, TypeError) as error:
        return str(error) if isinstance(error, ValueError) else ""
    return ""


def _shown(name: str, defaults: Mapping[str, Any]) -> str:
    if name not in defaults:
        return "(needed)"
    value = defaults[name]
    if name == "id":
        return f"{value}name of the host"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if value is None or value == () or value == "" or (isinstance(value, Mapping) and not value):
        return "(empty)"
    if isinstance(value, tuple):
        return f"`{', '.join(map(str, value))}`"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return f"`{value}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


if __name__ == "__main__":
    main()
