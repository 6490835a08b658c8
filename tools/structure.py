"""`make structure`: the sizes and dependencies of the code that the project holds itself to.

    .venv/bin/python -m tools.structure          figures, and what exceeds its limit; exit code 1 when something does

tests/test_structure.py asserts the same limits. Files are read as text; nothing of the project is imported.
"""

from __future__ import annotations

import ast
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import vulture

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("controller", "extmods", "gateway", "gitfs", "highstate", "matching", "minion", "options", "reactors", "wire")

MOST_FILES = 25
"""Python files in one folder."""
MIGRATIONS = "controller/store/migrations/versions"
"""A numbered file for each change of the database, in the order of its name: nobody looks for one among many."""
LONGEST_FUNCTION = 60
"""Lines."""
MEDIAN_FUNCTION = 8
"""Lines."""
MOST_COMPLEX = 15
"""Cyclomatic complexity above which a function counts as complex."""
COMPLEX_FUNCTIONS = 10
"""Most complex functions in all rooms together."""

_BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.match_case)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

CALLED_BY_LIBRARIES = (
    # click: commands are functions under a decorator, and groups override these
    *("*_command", "list_remotes", "list_forges", "list_commands", "format_commands", "default_map"),
    # uvicorn, http.client, http.server and socketserver
    *("capture_signals", "main_loop", "handle_error", "log_message", "close_connection", "client_address"),
    *("daemon_threads", "protocol_version", "disable_nagle_algorithm", "do_*", "_create_connection"),
    "response_class",  # http.client, of a connection
    # requests and urllib3, of a session, an adapter and a pool
    *("trust_env", "ConnectionCls", "init_poolmanager", "proxy_manager_for", "pool_classes_by_scheme"),
    "get_connection",  # of requests, of an adapter of Docker's SDK
    "_pool_classes_by_scheme",  # of botocore, of a session
    # expat, of a parser
    *("StartElementHandler", "EndElementHandler"),
    # urllib, and inspect of a function that is made
    *("redirect_request", "__doc__"),
    # asyncio, of a protocol
    *("connection_made", "get_buffer", "buffer_updated", "pause_writing", "resume_writing"),
    # libgit2's settings and callbacks
    *(
        "certificate_check",
        "push_update_reference",
        "refname",
        "owner_validation",
        "server_connect_timeout",
        "server_timeout",
    ),
    # Jinja, Mako and PyYAML
    *("adjust_uri", "has_template", "has_source_access", "relativeto", "visit_*", "call_binop", "intercepted_binops"),
    *("concat", "contained"),
    # SQLAlchemy
    *("impl", "cache_ok", "process_bind_param"),
    *("code_generator_class", "_undefined_exception", "ignore_aliases", "descend_resolver", "ascend_resolver"),
    # OpenTelemetry
    *("generate_trace_id", "generate_span_id", "force_flush"),
    # runners of a tree
    "fire_event",
    # sqlite3, inspect
    *("isolation_level", "__signature__"),
    # read of a dataclass by its fields' names: options of renderers, and what a kept blob id depends on
    *("allow_py_renderer", "renderer_whitelist", "renderer_blacklist", "ctime_ns", "mtime_ns"),
)
"""Names that libraries look for, so that nothing of ours uses them."""
_NOT_LOOKED_AT = ("*/salt_compat/*", "*/migrations/*")
"""Names of Salt's for modules of a tree, and of Alembic's."""
_SALT_SIGNATURES = (
    *(("minion", "states"), ("minion", "modules"), ("minion", "providers", "docker")),
    ("minion", "providers", "helm"),
    ("minion", "providers", "kubernetes"),
    ("minion", "providers", "mysql"),
    ("minion", "providers", "storage"),
    ("minion", "providers", "stores"),
    *(("controller", "runners"), ("controller", "wheels"), ("controller", "orchestration")),
)
"""Folders whose functions have the parameters of Salt's functions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function or method, with the lines from its `def` to its end."""

    place: str
    """`path:line name`."""
    lines: int
    complexity: int


def files(rooms: tuple[str, ...] = ROOMS) -> dict[str, Path]:
    """Module name -> file, of all rooms."""
    found = (path for room in rooms for path in sorted((ROOT / room).rglob("*.py")))
    return {_module(path): path for path in found}


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def crowded_folders() -> dict[str, int]:
    """Folders with more Python files than there may be, with their number."""
    counts = Counter(str(path.parent.relative_to(ROOT)) for path in files((*ROOMS, "tools")).values())
    return {folder: count for folder, count in counts.items() if count > MOST_FILES and folder != MIGRATIONS}


def functions() -> Iterator[Function]:
    """All functions of all rooms; a nested function counts by itself and within the one around it."""
    for path in files().values():
        for node in ast.walk(_parsed(path)):
            if isinstance(node, _FUNCTIONS):
                place = f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                yield Function(place=place, lines=lines, complexity=_complexity(node))


def _complexity(function: ast.AST) -> int:
    """McCabe's number, as ruff's C901 counts it: one, and one for each branch of a statement."""
    return 1 + sum(isinstance(node, _BRANCHES) for node in ast.walk(function))


def imports() -> dict[str, set[str]]:
    """Module -> modules of ours that it imports anywhere, in functions too; not for type checking alone."""
    modules = files()
    found: dict[str, set[str]] = defaultdict(set)
    for module, path in modules.items():
        for node in _runtime_nodes(_parsed(path)):
            for imported in _imported(node, modules):
                found[module] |= {imported, *_packages_of(imported)} - {module, *_packages_of(module)}
    return found


def _packages_of(module: str) -> set[str]:
    """The packages around a module: an import of it runs their `__init__`, too."""
    parts = module.split(".")
    return {".".join(parts[:length]) for length in range(1, len(parts))}


def _runtime_nodes(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            continue
        yield child
        yield from _runtime_nodes(child)


def _imported(node: ast.AST, modules: Mapping[str, Path]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in modules)
    elif isinstance(node, ast.ImportFrom) and node.module in modules:
        for alias in node.names:
            name = f"{node.module}.{alias.name}"
            yield name if name in modules else node.module


def cycles() -> list[list[str]]:
    """Groups of modules that import each other."""
    return _cycles_of(imports())


def folder_cycles() -> list[list[str]]:
    """Groups of entries of one folder, modules and folders, that import each other, at all depths and in tools too.

    A folder imports what any module below it imports. Imports for type checking alone do not count.
    """
    modules = files((*ROOMS, "tools"))
    siblings: dict[str, set[str]] = defaultdict(set)
    for module, path in modules.items():
        for node in _runtime_nodes(_parsed(path)):
            for imported in _imported(node, modules):
                if pair := _siblings(module, imported):
                    siblings[pair[0]].add(pair[1])
    return _cycles_of(siblings)


def _siblings(module: str, imported: str) -> tuple[str, str] | None:
    """The entries of the same folder that hold these two; None when one of the two is around the other."""
    one, other = module.split("."), imported.split(".")
    for depth, (ours, theirs) in enumerate(zip(one, other, strict=False), 1):
        if ours != theirs:
            return ".".join(one[:depth]), ".".join(other[:depth])
    return None


def _cycles_of(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Tarjan's strongly connected components of more than one node."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = stack[stack.index(node) :]
            del stack[-len(group) :]
            if len(group) > 1:
                found.append(sorted(group))

    sys.setrecursionlimit(10_000)
    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def dead_code() -> list[str]:
    """What nothing in rooms, entry, tests and tools uses, by vulture. Salt's arguments that do nothing do not count."""
    finder = vulture.Vulture(ignore_names=CALLED_BY_LIBRARIES)
    finder.scavenge([str(ROOT / each) for each in (*ROOMS, "saltern", "tests", "tools")], exclude=_NOT_LOOKED_AT)
    found = []
    for item in finder.get_unused_code(min_confidence=60):
        path = Path(item.filename).relative_to(ROOT)
        salt_argument = item.typ == "variable" and bool({path.parts[:2], path.parts[:3]}.intersection(_SALT_SIGNATURES))
        if path.parts[0] in ROOMS and not salt_argument:
            found.append(f"{path}:{item.first_lineno} {item.message}")
    return found


def repeated_names() -> dict[str, list[str]]:
    """Public classes and type aliases of one name in several modules. What stands for Salt's own names may repeat."""
    found: dict[str, list[str]] = defaultdict(list)
    for module, path in files().items():
        if module.startswith("extmods.salt_compat"):
            continue
        for node in _parsed(path).body:
            name = node.name if isinstance(node, ast.ClassDef) else _alias(node)
            if name and not name.startswith("_"):
                found[name].append(module)
    return {name: modules for name, modules in found.items() if len(modules) > 1}


def _alias(node: ast.stmt) -> str:
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id if "TypeAlias" in ast.dump(node.annotation) else ""
    return ""


def main() -> int:
    """Print the figures; the exit code."""
    all_functions = list(functions())
    long = [f"{each.place}: {each.lines} lines" for each in all_functions if each.lines > LONGEST_FUNCTION]
    complicated = [f"{each.place}: {each.complexity}" for each in all_functions if each.complexity > MOST_COMPLEX]
    median = statistics.median(each.lines for each in all_functions)
    report = {
        f"folders with more than {MOST_FILES} files": [f"{k}: {n}" for k, n in sorted(crowded_folders().items())],
        f"functions of more than {LONGEST_FUNCTION} lines": long,
        f"functions of complexity above {MOST_COMPLEX} (at most {COMPLEX_FUNCTIONS})": complicated,
        "dead code": dead_code(),
        "import cycles": [" ".join(group) for group in cycles()],
        "cycles of folders": [" ".join(group) for group in folder_cycles()],
        "names with several types": [f"{name}: {' '.join(modules)}" for name, modules in repeated_names().items()],
    }
    sys.stdout.write(f"{len(all_functions)} functions, median {median:g} lines (at most {MEDIAN_FUNCTION})\n")
    for title, rows in report.items():
        sys.stdout.write(f"{title}: {len(rows)}\n" + "".join(f"  {row}\n" for row in rows))
    exceeded = median > MEDIAN_FUNCTION or len(complicated) > COMPLEX_FUNCTIONS
    return int(exceeded or any(rows for title, rows in report.items() if "complexity" not in title))


if __name__ == "__main__":
    sys.exit(main())
