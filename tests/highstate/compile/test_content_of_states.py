"""The digest of every state function covers what its plan can read: files, templates, pillar, grains, functions.

What a function reads is found in its source: each attribute of the machine that it, or a function that it calls, uses.
"""

import ast
import functools
import inspect
import textwrap

import pytest

from highstate.compile import CompileOptions, compile_minion
from highstate.files import MemoryFiles
from highstate.types import Minion
from minion.engine.registry import find, names

LIVE = {name for name in names() if name.startswith(("grains.", "mysql_query.", "redis.slaveof"))}
"""They read the grains that they set: the machine as it is, not what was compiled."""
SHARED = (
    "docker_",
    "elasticsearch",
    "influxdb_",
    "mongodb_",
    "kubernetes",
    "mysql_",
    "postgres_",
    "redis",
    "slack",
    "syslog_ng",
    "x509",
    "zabbix_",
)
"""A library that states of such a name share reads the options."""
WITH_CONTENTS = {"x509.pem_managed"}
"""They have `file.managed` write what they give it, which is no template."""
_OF_TEMPLATES = {"pillar", "grains"}
PACKAGES = {name for name in names() if name.startswith("pkg.")}
"""They read the grain osarch, which does not change while a machine lives."""
CONFIGURED = {
    "alias": "aliases.file",
    "elasticsearch": "elasticsearch",
    "host": "hosts.file",
    "iptables": "iptables.save_filters",
    "x509": "x509_signing_policies",
    **{name.partition(".")[0]: "docker.url" for name in names() if name.startswith("docker_")},
    "kubernetes": "kubernetes.host",
    **{name.partition(".")[0]: "mysql.host" for name in names() if name.startswith("mysql_")},
    **{name.partition(".")[0]: "influxdb.host" for name in names() if name.startswith("influxdb_")},
    **{name.partition(".")[0]: "mongodb.host" for name in names() if name.startswith("mongodb_")},
    "redis": "redis.host",
    **{name.partition(".")[0]: "zabbix.user" for name in names() if name.startswith("zabbix_")},
    "slack": "slack.api_key",
    "syslog_ng": "syslog_ng.config_file",
    **{name.partition(".")[0]: "postgres.host" for name in names() if name.startswith("postgres_")},
}
"""State module -> the option that it reads (`minion.machine.configured`), and that pillar and grains may set."""
FIREWALL = {name for name in names() if name.startswith("iptables.")}
"""They read the grains os and os_family, which do not change while a machine lives."""
TEXT = {
    "context",
    "defaults",
    "template_context",
    "contents",
    "contents_pillar",
    "contents_grains",
    "content",
    "text",
    "dataset",
    "data",
    "comment",
}
"""Arguments that hold text and values."""
NOT_FETCHED = {"template", "mode", "file_mode", "names", "saltenv"} | TEXT


def digests(state, fun, arguments, *, pillar="a: 1", files=None, grains=None):
    low = "\n".join(f"    - {key}: {value}" for key, value in arguments.items())
    sls = f"x:\n  {state}.{fun}:\n    - umask: '022'\n{low}\n"
    tree = {"top.sls": b"base:\n  '*':\n    - a\n", "a.sls": sls.encode(), **(files or {})}
    pillars = {"top.sls": b"base:\n  '*':\n    - p\n", "p.sls": pillar.encode()}
    minion = Minion(id="web1", grains=grains or {})
    trees = MemoryFiles({"base": tree}), MemoryFiles({"base": pillars})
    done = compile_minion(*trees, minion, CompileOptions())
    assert done.ok, "\n".join(map(str, done.errors))
    return {tag: content.digest for tag, content in done.contents.items()}


def differ(state, fun, arguments, one, two):
    return digests(state, fun, arguments, **one) != digests(state, fun, arguments, **two)


@functools.cache
def reads(function):
    """The attributes of the machine that a function uses, through all that it calls of the states' own code."""
    found, seen = set(), set()
    waiting = [inspect.unwrap(function)]
    while waiting:
        call = waiting.pop()
        if not inspect.isfunction(call) or call in seen or not call.__module__.startswith("minion.states"):
            continue
        seen.add(call)
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(call)))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "machine":
                found.add(node.attr)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                waiting.append(call.__globals__.get(node.id))
    return frozenset(found)


def taken(full):
    return {name for name, one in find(*full.split("."), "s").spec.parameters.items() if one.single}


def test_the_search_finds_what_is_known():
    assert {"pillar", "grains", "render_text", "source"} <= reads(find("file", "managed", "s").call)
    assert "pillar" in reads(find("file", "serialize", "s").call)
    assert "source" not in reads(find("user", "present", "s").call)


@pytest.mark.parametrize("full", names())
def test_a_slot_is_read_of_the_whole_minion(full):
    state, _, fun = full.partition(".")
    if full == "file.recurse":
        return
    slot = {"umask": "'__slot__:salt:pillar.get(a)'"}
    assert differ(state, fun, slot, {"pillar": "a: 1"}, {"pillar": "a: 2"})
    condition = {"onlyif": "[{fun: grains.equals, args: [a, 1]}]"}
    assert differ(state, fun, condition, {"grains": {"a": 1}}, {"grains": {"a": 2}})


@pytest.mark.parametrize("full", names())
def test_what_is_looked_up_in_pillar_and_grains_is_digested(full):
    state, _, fun = full.partition(".")
    uses = reads(find(state, fun, "s").call) - (_OF_TEMPLATES if full in WITH_CONTENTS else set())
    for root in {"pillar", "grains"} & uses:
        by_name = {name for name in taken(full) if name.endswith(f"_{root}")}
        if full == "test.check_pillar":
            by_name = {"present", "boolean", "integer", "string", "listing", "dictionary"}
        if not by_name and root == "grains" and (full in LIVE | PACKAGES | FIREWALL):
            continue
        assert by_name, f"{full} reads {root}: its content has to cover that"
        for name in by_name:
            one = {"pillar": "a: {b: 1}", "grains": {"a": {"b": 1}}}
            two = {"pillar": "a: {b: 2}", "grains": {"a": {"b": 2}}}
            assert differ(state, fun, {name: "a:b"}, one, two), name


@pytest.mark.parametrize("full", names())
def test_an_option_that_is_read_is_digested(full):
    state, _, fun = full.partition(".")
    own = inspect.getmodule(inspect.unwrap(find(state, fun, "s").call))
    if not state.startswith(SHARED):
        assert ("configured" in vars(own)) == (state in CONFIGURED)
    if option := CONFIGURED.get(state):
        one, two = f"{{{option}: one}}", f"{{{option}: two}}"
        assert differ(state, fun, {}, {"pillar": one}, {"pillar": two})
        assert differ(state, fun, {}, {"grains": {option: "one"}}, {"grains": {option: "two"}})
        assert not differ(
            state, fun, {}, {"pillar": f"{{{option}: one, a: 1}}"}, {"pillar": f"{{{option}: one, a: 2}}"}
        )


def test_an_option_that_an_argument_names_is_digested():
    differs = [differ("elasticsearch", "index_absent", given, {"pillar": "{es: {a: 1}}"}, {"pillar": "{es: {a: 2}}"})
               for given in ({"profile": "es"}, {"profile": {"host": "es"}})]  # fmt: skip
    assert differs == [True, False]


def _uses(full, *attributes):
    return bool(set(attributes) & reads(find(*full.split("."), "s").call))


@pytest.mark.parametrize("full", [one for one in names() if "template" in taken(one) and _uses(one, "render_text")])
def test_a_template_is_digested_as_rendered(full):
    state, _, fun = full.partition(".")
    parameters = find(state, fun, "s").spec.parameters
    default = parameters["template"].default
    for explicit in {True, default is None}:
        template = {"template": "jinja"} if explicit else {}
        url = "salt://f" if full == "file.recurse" else "salt://f/t"
        source = {"source" if "source" in parameters else "name": url}
        files = {"f/t": b"{{ pillar['a'] }}"}
        one, two = ({"pillar": pillar, "files": files} for pillar in ("a: 1", "a: 2"))
        assert differ(state, fun, source | template, one, two)


@pytest.mark.parametrize("full", [one for one in names() if _uses(one, "source", "sources", "fetch")])
def test_every_file_that_an_argument_names_is_digested(full):
    state, _, fun = full.partition(".")
    for name in (taken(full) | {"name"}) - NOT_FETCHED:
        url = {name: "salt://f"}
        one, two = {"files": {"f/t": b"1"}}, {"files": {"f/t": b"2"}}
        if (full, name) != ("file.recurse", "source"):
            one, two = {"files": {"f": b"1"}}, {"files": {"f": b"2"}}
        more = {} if full != "file.recurse" or name == "source" else {"source": "salt://g"}
        g = {"g/g": b""}
        assert differ(state, fun, url | more, {"files": one["files"] | g}, {"files": two["files"] | g}), name


def test_a_state_of_the_tree_is_another_when_its_module_is():
    one, two = ({"_states/own.py": text} for text in (b"def ran(name): pass", b"def ran(name): return 1"))
    assert differ("own", "ran", {}, {"files": one}, {"files": two})
    assert differ("own", "ran", {}, {"files": one, "pillar": "a: 1"}, {"files": one, "pillar": "a: 2"})
