import io
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from highstate.desired import Desired
from highstate.files import blob_id
from highstate.types import Chunk, Compiled
from minion.call.call import main
from minion.call.options import CallOptions
from minion.modules.state.runs import high_of
from minion.spool.desired_state import DesiredState
from minion.spool.files import BlobCache
from wire.messages import DesiredUpdate
from wire.patch import diff, digest


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    write(tmp_path / "states/top.sls", "base:\n  '*':\n    - web\n")
    write(
        tmp_path / "states/web/init.sls",
        f"""
{tmp_path}/out/conf:
  file.managed:
    - source: salt://web/conf.j2
    - template: jinja
    - makedirs: True
again:
  cmd.wait:
    - name: echo again >> {tmp_path}/again
    - watch:
      - file: {tmp_path}/out/conf
""",
    )
    write(tmp_path / "states/web/conf.j2", "port {{ pillar['port'] }} on {{ grains['id'] }}\n")
    write(tmp_path / "pillar/top.sls", "base:\n  '*':\n    - ports\n")
    write(tmp_path / "pillar/ports.sls", "port: 80\n")
    write(tmp_path / "conf/minion", f"id: web1\nroot_dir: {tmp_path}/root\n")
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def call(tree: Path, fun: str, *args: str, local: bool = True, **more: Any) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    roots: dict[str, Any] = {}
    if local:
        roots = {"file_root": (str(tree / "states"),), "pillar_root": (str(tree / "pillar"),)}
    options = CallOptions(fun=fun, args=args, local=local, config_dir=tree / "conf", **roots, **more)
    return main(options, out, err), out.getvalue(), err.getvalue()


def data(tree: Path, fun: str, *args: str, **more: Any) -> Any:
    code, out, err = call(tree, fun, *args, out="json", **more)
    assert code in (0, 2), err
    return json.loads(out)["local"]


def test_a_masterless_run(tree: Path) -> None:
    pending = call(tree, "state.apply", "test=True")
    assert pending[0] == 2
    assert "Succeeded: 2 (unchanged=2, changed=2)" in pending[1]
    assert not (tree / "out").exists()
    code, out, err = call(tree, "state.apply")
    assert (code, err) == (0, "")
    assert "Succeeded: 2 (changed=2)" in out
    assert "\x1b" not in out
    assert (tree / "out/conf").read_text() == "port 80 on web1\n"
    assert (tree / "again").read_text() == "again\n"
    assert "changed" not in call(tree, "state.apply")[1]


def test_pillar_on_the_command_line(tree: Path) -> None:
    ran = data(tree, "state.apply", "pillar={port: 81}")
    assert (tree / "out/conf").read_text() == "port 81 on web1\n"
    assert {entry["__sls__"] for entry in ran.values()} == {"web"}
    assert data(tree, "state.sls", "web", "pillar={port: 82}")
    assert (tree / "out/conf").read_text() == "port 82 on web1\n"


def test_what_it_shows(tree: Path) -> None:
    assert data(tree, "pillar.items") == {"port": 80}
    assert data(tree, "state.show_top") == {"base": ["web"]}
    assert [low["__id__"] for low in data(tree, "state.show_lowstate")] == [f"{tree}/out/conf", "again"]
    assert "again" in data(tree, "state.show_highstate")
    assert data(tree, "grains.get", "id") == "web1"
    assert next(iter(data(tree, "state.sls_id", "again"))).startswith("cmd_|-again")


def test_a_tree_that_does_not_compile(tree: Path) -> None:
    write(tree / "states/web/init.sls", "a:\n  file.managed:\n    - {{ nope }}\n")
    code, out, _ = call(tree, "state.apply")
    assert code == 4
    assert out.startswith("local:\n    Data failed to compile:\n----------\n    web/init.sls:3")
    assert "web/init.sls:3" in data_of_failed(tree)[0]
    assert call(tree, "state.sls", "missing")[0] == 4
    write(tree / "pillar/ports.sls", "{{ nope }}")
    assert call(tree, "pillar.items")[0] == 4


def data_of_failed(tree: Path) -> list[str]:
    return json.loads(call(tree, "state.apply", out="json")[1])["local"]


def test_a_failing_state_fails_the_call(tree: Path) -> None:
    code, out, _ = call(tree, "state.single", "test.fail_without_changes", "x")
    assert code == 1
    assert "Failed:    1" in out
    terse = call(tree, "state.single", "test.nop", "x", state_output="terse")[1]
    assert "Name: x - Function: test.nop - Result: Clean" in terse


@pytest.mark.parametrize(
    ("fun", "args", "more", "said"),
    [
        ("test.pong", (), {}, "Did you mean test.ping"),
        ("test.echo", (), {}, "Passed invalid arguments"),
        ("test.echo", ("{a",), {}, "is no YAML"),
        ("test.ping", (), {"out": "xml"}, "--out xml is not known"),
        ("test.ping", (), {"log_level": "loud"}, "-l loud is not known"),
        ("test.ping", (), {"id": "a/b"}, "a minion id"),
        ("test.fib", ("x",), {}, "num must be a number, not 'x'"),
        ("network.reverse_ip", ("x",), {}, "network.reverse_ip failed: ValueError"),
        ("cmd.run", ("true", "cwd=/no/such"), {}, "is not available"),
    ],
)
def test_what_is_refused(tree: Path, fun: str, args: Any, more: Any, said: str) -> None:
    code, out, err = call(tree, fun, *args, **more)
    unusable = bool(more) or "no YAML" in said
    assert (code, out) == (64 if unusable else 1, "")
    assert err.startswith("error: ")
    assert said in err


@pytest.mark.parametrize(
    ("out", "text"),
    [
        (
            "json",
            '{\n    "local": {\n        "args": [],\n        "kwargs": {\n            "a": "ü"\n        }\n    }\n}\n',
        ),
        ("yaml", "local:\n  args: []\n  kwargs:\n    a: ü\n"),
        ("txt", "local: {'args': [], 'kwargs': {'a': 'ü'}}\n"),
        ("nested", "local:\n    ----------\n    args:\n    kwargs:\n        ----------\n        a:\n            ü\n"),
        ("raw", "{'local': {'args': [], 'kwargs': {'a': 'ü'}}}\n"),
        ("quiet", ""),
    ],
)
def test_outputters(tree: Path, out: str, text: str) -> None:
    assert call(tree, "test.arg", "a=ü", out=out) == (0, text, "")


def test_the_exit_code_of_a_command(tree: Path) -> None:
    assert call(tree, "cmd.retcode", "exit 7", retcode_passthrough=True)[0] == 7
    assert call(tree, "cmd.run_all", "exit 7", retcode_passthrough=True)[0] == 7
    assert call(tree, "cmd.retcode", "exit 7")[0] == 1


def test_warnings_of_the_configuration_go_to_stderr(tree: Path) -> None:
    write(tree / "conf/minion.d/x.conf", "masterport: 1\n")
    code, out, err = call(tree, "test.ping", out="json")
    assert (code, json.loads(out)) == (0, {"local": True})
    assert "did you mean master_port?" in err
    write(tree / "conf/minion.d/x.conf", "master_port: x\n")
    assert call(tree, "test.ping")[0] == 64


def test_without_a_controller_it_says_what_to_do(tree: Path) -> None:
    code, _, err = call(tree, "state.apply", local=False)
    assert code == 1
    assert "holds no desired state yet" in err


def test_a_held_state(tree: Path) -> None:
    source = b"from the controller\n"
    first = Chunk(state="test", fun="nop", id="first", name="first", sls="base")
    name = str(tree / "held")
    managed = Chunk(
        state="file",
        fun="managed",
        id=name,
        name=name,
        sls="web",
        arguments={"source": "salt://x", "require": [{"test": "first"}]},
    )
    desired = Desired(
        chunks={one.tag: one for one in (first, managed)},
        pillar={"p": 1},
        files={"base": {"x": blob_id(source)}},
    )
    cachedir = tree / "root/var/cache/saltern/minion"
    cachedir.mkdir(parents=True)
    BlobCache(cachedir).put(blob_id(source), source)
    document = msgspec.to_builtins(desired.as_document())
    DesiredState(cachedir).accept(
        DesiredUpdate(generation=1, base="", digest=digest(document), patch=diff({}, document))
    )
    assert data(tree, "pillar.get", "p", local=False) == 1
    ran = data(tree, "state.sls", "web", local=False)
    assert [entry["result"] for entry in ran.values()] == [True]
    assert (tree / "held").read_bytes() == source
    assert len(data(tree, "state.apply", local=False)) == 2
    code, out, _ = call(tree, "state.sls", "nope", local=False)
    assert code == 4
    assert "SLS of the highstate can be run: base, web" in out


HEAVY = ("asyncio", "jinja2", "psutil", "pygit2", "msgspec", "subprocess", "yaml", "zmq", "logging")


def test_a_ping_imports_next_to_nothing(tree: Path) -> None:
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from minion.call.call import main\n"
        "from minion.call.options import CallOptions\n"
        "main(CallOptions(fun='test.ping', local=True, config_dir=Path('/nonexistent')))\n"
        f"print(sorted(set(sys.modules) & set({HEAVY!r})))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


STATES = """
same: {test.nop: []}
changed: {test.succeed_with_changes: []}
fails: {test.fail_without_changes: []}
odd:
  test.configurable_test_state:
    - changes: False
    - warnings: careful
"""


@pytest.mark.parametrize(
    ("options", "there", "gone"),
    [
        ({"state_output": "full"}, ["ID: same", "ID: changed", "Warnings: careful", "Failed:    1"], ["Name: same -"]),
        ({"state_output": "terse"}, ["Name: same - Function: test.nop - Result: Clean - Started"], ["ID:"]),
        ({"state_output": "mixed"}, ["Name: same -", "Name: changed -", "ID: fails"], ["ID: same"]),
        ({"state_output": "changes_id"}, ["Name: same -", "ID: changed", "ID: fails"], ["ID: same"]),
        ({"state_verbose": False}, ["ID: changed", "ID: fails", "Total states run:     4"], ["same"]),
        ({"profile": True}, ["Time by function", "test.succeed_with_changes             1"], []),
    ],
)
def test_how_much_of_a_run_is_shown(tree: Path, options: Any, there: list[str], gone: list[str]) -> None:
    write(tree / "states/web/init.sls", STATES)
    code, out, err = call(tree, "state.apply", **options)
    assert (code, err) == (1, "")
    assert all(text in out for text in there), out
    assert not any(text in out for text in gone), out


def test_results_are_filtered_as_configured(tree: Path) -> None:
    write(tree / "states/web/init.sls", STATES)
    filtered = "state_output: filter\nstate_output_exclude: ['True']\nstate_output_pct: True\n"
    write(tree / "conf/minion.d/o.conf", filtered)
    out = call(tree, "state.apply")[1]
    assert "ID: fails" in out
    assert "ID: same" not in out
    assert "Success %: 75.0" in out


def test_values_in_columns(tree: Path) -> None:
    """As Salt's table has them; a value that it drops is shown."""
    out = call(tree, "test.echo", "[{name: a, n: 1}, {name: bb, n: 22}]", out="table")[1]
    assert out.splitlines() == [
        "local:",
        "----------",
        "    -------------",
        "    | N  | Name |",
        "    -------------",
        "    | 1  |  a   |",
        "    -------------",
        "    | 22 |  bb  |",
        "    -------------",
    ]
    assert call(tree, "test.echo", "x", out="table")[1] == "local:\n----------\n    x\n"
    assert call(tree, "test.echo", "{k: {a: [1, 2]}}", out="table")[1].splitlines()[2:6] == [
        "    k:",
        "    ----------",
        "        a:",
        "        ----------",
    ]


def test_text_line_by_line(tree: Path) -> None:
    assert call(tree, "test.echo", "a\nb", out="txt")[1] == "local: a\nlocal: b\n"


def test_values_go_into_a_file(tree: Path, tmp_path: Path) -> None:
    file = tmp_path / "out"
    for again in (False, True):
        assert call(tree, "test.ping", out="json", out_file=file, out_append=again, out_indent=None)[:2] == (0, "")
    assert file.read_text() == '{"local": true}\n' * 2
    code, _, err = call(tree, "test.ping", out_file=tmp_path / "none" / "out")
    assert code == 1
    assert "No such file" in err


def test_templates_call_the_machine_that_they_are_compiled_on(tree: Path) -> None:
    asked = {
        "home": "salt['user.info']('root').home",
        "there": "salt['file.file_exists']('/etc/passwd')",
        "run": "salt['cmd.run']('echo a | cat')",
        "which": "salt['cmd.which']('sh')",
        "known": "'pkg.version' in salt and 'zfs.list' not in salt",
        "pillar": "pillar.told",
    }
    write(
        tree / "states/asks.sls", "a:\n  test.nop:\n" + "".join(f"    - {k}: {{{{ {v} }}}}\n" for k, v in asked.items())
    )
    write(tree / "pillar/top.sls", "base: {'*': [asks]}\n")
    write(tree / "pillar/asks.sls", "told: {{ salt['cmd.run']('echo told') }}\n")
    [low] = data(tree, "state.show_low_sls", "asks")
    assert {key: low[key] for key in asked} == {
        "home": "/root", "there": True, "run": "a | cat", "which": "/usr/bin/sh", "known": True, "pillar": "told"
    }  # fmt: skip
    write(tree / "states/asks.sls", "{{ salt['user.info'](1, 2, 3, 4) }}\n")
    code, out, _ = call(tree, "state.show_low_sls", "asks")
    assert (code, "salt['user.info'] asks the live machine and failed" in out) == (4, True)


def test_templates_see_where_the_configuration_is(tree: Path) -> None:
    write(tree / "states/a.sls", "a:\n  test.nop:\n    - places: [{{ opts['config_dir'] }}, {{ opts.conf_file }}]\n")
    [low] = data(tree, "state.show_low_sls", "a")
    assert low["places"] == [str(tree / "conf"), str(tree / "conf/minion")]


def test_a_template_that_uses_up_the_pillar_is_rendered_once(tree: Path) -> None:
    write(tree / "pillar/top.sls", "base: {'*': [maps]}\n")
    write(tree / "pillar/maps.sls", "maps: [{a: 1}, {b: 2}]\n")
    loop = "{% for item in salt['pillar.get']('maps') %}"
    write(tree / "states/maps.j2", loop + "{% set key, value = item.popitem() %}{{ key }}={{ value }} {% endfor %}")
    made = tree / "made"
    write(tree / "states/maps.sls", f"{made}:\n  file.managed:\n    - source: salt://maps.j2\n    - template: jinja\n")
    code, out, _ = call(tree, "state.apply", "maps")
    assert (code, made.read_text().split()) == (0, ["a=1", "b=2"]), out


def test_sigterm_ends_a_run_with_what_it_has_done(tree: Path) -> None:
    write(tree / "conf/minion", f"id: web1\nroot_dir: {tree}/root\nstop_grace: 0.2\n")
    hang = f"hang:\n  cmd.run:\n    - name: touch {tree}/hung; exec sleep 7533\nafter:\n  test.nop: []\n"
    write(tree / "states/hang.sls", hang)
    (tree / "root/var/cache/saltern/minion").mkdir(parents=True)
    roots = ["--local", "--file-root", str(tree / "states"), "-c", str(tree / "conf"), "--out", "json"]
    command = [sys.executable, "-c", "from controller.cli import main; main()", "call", *roots, "state.apply", "hang"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while not (tree / "hung").exists():
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        hung, after = json.load(process.stdout)["local"].values()
    assert process.returncode == 1
    assert (hung["result"], after["result"]) == (False, False)
    assert after["comment"] == "Not run: the run was ended by a signal"


@pytest.fixture
def another_run(tree: Path) -> Iterator[int]:
    """A process that runs states as job 20261121154611083487; its id."""
    cachedir = tree / "root/var/cache/saltern/minion"
    cachedir.mkdir(parents=True)
    code = "import pathlib, sys; from minion.spool.state_queue import StateQueue\n"
    code += "with StateQueue(pathlib.Path(sys.argv[1]), 'state.apply', sys.argv[2]).taken(): print(flush=True); input()"
    command = [sys.executable, "-c", code, str(cachedir), "20261121154611083487"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.kill()


def test_a_run_beside_another_is_refused_as_salt_refuses_it(tree: Path, another_run: int) -> None:
    for fun in (
        ("state.apply",),
        ("state.sls", "web"),
        ("state.single", "test.nop", "x"),
        ("state.sls_id", "a", "web"),
    ):
        code, out, _ = call(tree, *fun, out="json")
        [line] = json.loads(out)["local"]
        assert code == 1
        assert line.startswith(f'The function "state.apply" is running as PID {another_run} and was started at ')
        assert line.endswith(" with jid 20261121154611083487")
    [said] = data(tree, "state.running")
    assert said == line
    assert data(tree, "state.running", "concurrent=True") == []
    assert len(data(tree, "state.single", "test.nop", "x", "concurrent=True")) == 1


def test_a_run_within_a_run_has_its_turn(tree: Path) -> None:
    (tree / "root/var/cache/saltern/minion").mkdir(parents=True)
    write(tree / "states/inner.sls", "in:\n  module.run:\n    - state.single:\n      - test.nop\n      - x\n")
    [entry] = data(tree, "state.apply", "inner").values()
    assert entry["result"], entry


def test_what_a_state_changes_is_seen_by_the_next_when_it_says_so(tree: Path) -> None:
    """Grains, pillar and modules of the machine, by `reload_…`; slots show what the run has of them."""
    write(tree / "modules/said.py", "def word():\n    return 'old'\n")
    write(tree / "conf/grains", "word: old\n")
    write(tree / "conf/minion", f"id: web1\nroot_dir: {tree}/root\nmodule_dirs: [{tree}]\n")
    write(
        tree / "states/again.sls",
        f"""
{tree}/conf/grains:
  file.managed: [contents: "word: new", reload_grains: True]
{tree}/pillar/ports.sls:
  file.managed: [contents: "port: 81", reload_pillar: True]
{tree}/modules/said.py:
  file.managed: [contents: "def word(): return 'new and longer'", reload_modules: True]
{tree}/seen:
  cmd.run:
    - name: echo "$G $P $M" > {tree}/seen
    - env:
      - G: __slot__:salt:grains.get(word)
      - P: __slot__:salt:pillar.get(port)
      - M: __slot__:salt:said.word()
""",
    )
    code, out, _ = call(tree, "state.apply", "again", out="json")
    assert code == 0, out
    assert (tree / "seen").read_text() == "new 81 new and longer\n"


def test_modules_of_the_tree_without_a_controller(tree: Path) -> None:
    """The cache folder is made, a run brings the modules along, grains follow, and `sys` knows them."""
    write(tree / "states/_modules/greet.py", "def hello(whom):\n    'Greets.'\n    return 'hello ' + whom\n")
    write(tree / "states/_states/greeted.py", "def by(name, who='me'):\n    return {'name': name, 'result': True}\n")
    write(tree / "states/_grains/place.py", "def place():\n    return {'place': 'north'}\n")
    write(tree / "states/greet.sls", "greet:\n  module.run:\n    - greet.hello:\n      - whom: you\n")
    assert not (tree / "root").exists()
    assert "greet.hello: hello you" in call(tree, "state.apply", "greet")[1]
    assert data(tree, "greet.hello", "them") == "hello them"
    assert data(tree, "grains.get", "place") == "north"
    assert data(tree, "sys.list_functions", "greet") == ["greet.hello"]
    assert data(tree, "sys.argspec", "greet.hello")["greet.hello"]["args"] == ["whom"]
    assert "greet" in data(tree, "sys.list_modules")
    assert "greeted.by" in data(tree, "sys.list_state_functions")
    assert "greeted" in data(tree, "sys.list_state_modules")
    assert data(tree, "sys.state_argspec", "greeted.by")["greeted.by"]["args"] == ["name", "who"]
    assert (tree / "root/var/cache/saltern/minion").stat().st_mode & 0o777 == 0o700
    for kind in ("modules", "states", "grains"):
        (tree / f"states/_{kind}").rename(tree / f"gone-{kind}")
    assert data(tree, "saltutil.sync_all")["modules"] == ["modules.greet"]
    assert data(tree, "sys.list_functions", "greet") == []
    assert not (tree / "root/var/cache/saltern/minion/usermodules/index.json").exists()


def test_high_data_of_a_document(tree: Path) -> None:
    """`state.show_highstate` where the controller compiled: high data that gives the low chunks that are held."""
    chunks = (
        Chunk(state="pkg", fun="installed", id="web", name="nginx", sls="web", arguments={"version": "1"}, order=1),
        Chunk(state="file", fun="managed", id="conf", name="/a", sls="web", order=2),
        Chunk(state="file", fun="managed", id="conf", name="/b", sls="web", arguments={"mode": "600"}, order=3),
    )
    assert high_of(Compiled(minion_id="m", lowstate=chunks)) == {
        "web": {
            "__sls__": "web",
            "__env__": "base",
            "pkg": [{"name": "nginx"}, {"version": "1"}, "installed", {"order": 1}],
        },
        "conf": {
            "__sls__": "web",
            "__env__": "base",
            "file": [{"names": ["/a", {"/b": [{"mode": "600"}]}]}, "managed", {"order": 2}],
        },
    }
