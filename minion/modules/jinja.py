"""The execution module `jinja`: what templates of the tree come to, to find out why a map is as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.execution.context import Context
from minion.execution.errors import CallFailed


def load_map(context: Context, path: str, value: str) -> Any:
    """A variable of a template, such as `mymap` of `nginx/map.jinja`."""
    return _rendered(
        context, f"{{% from {_quoted(path)} import {_name(value)} with context %}}{{{{ {value} | tojson }}}}"
    )


def import_yaml(context: Context, path: str) -> Any:
    """What `import_yaml` of a template gives for a file."""
    return _rendered(context, f"{{% import_yaml {_quoted(path)} as imported %}}{{{{ imported | tojson }}}}")


def import_json(context: Context, path: str) -> Any:
    """What `import_json` of a template gives for a file."""
    return _rendered(context, f"{{% import_json {_quoted(path)} as imported %}}{{{{ imported | tojson }}}}")


def _rendered(context: Context, text: str) -> Any:
    import json

    return json.loads(context.machine.render_text(text, "jinja", "base", {}))


def _quoted(path: str) -> str:
    if any(sign in path for sign in "'\"\\{}\n"):
        raise CallFailed(f"{path!r} is no path of the tree")
    return f'"{path.removeprefix("salt://")}"'


def _name(value: str) -> str:
    if not value.isidentifier():
        raise CallFailed(f"{value!r} is no name of a variable")
    return value


FUNCTIONS: Mapping[str, Any] = {"import_json": import_json, "import_yaml": import_yaml, "load_map": load_map}
