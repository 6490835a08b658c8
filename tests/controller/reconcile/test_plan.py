"""Plans: what is shown, and what has to run."""

from controller.reconcile.plan import ChangeKind, plan
from controller.reconcile.plan_text import headline, plan_text
from highstate.desired import Desired, chunk_keys
from highstate.types import Chunk


def chunk(identifier, *, state="file", fun="managed", name=None, order=0, sls="web", **arguments):
    return Chunk(
        state=state, fun=fun, id=identifier, name=name or identifier, sls=sls, order=order, arguments=arguments
    )


def desired(*chunks, contents=None):
    keyed = chunk_keys(chunks)
    named = {key: (contents or {}).get(each.id, "") for key, each in keyed.items()}
    return Desired(chunks=keyed, contents={key: value for key, value in named.items() if value})


def kinds(result):
    return {change.chunk.id: change.kind for change in result.changes}


def ran(result, document):
    return [document.chunks[key].id for key in result.run]


def test_everything_is_new_for_a_new_minion():
    new = desired(chunk("a"), chunk("b"))
    result = plan(None, new)
    assert kinds(result) == {"a": ChangeKind.ADDED, "b": ChangeKind.ADDED}
    assert ran(result, new) == ["a", "b"]


def test_nothing_changes():
    old = desired(chunk("a", order=10000, mode="0644"))
    assert plan(old, desired(chunk("a", order=10007, mode="0644", sls="elsewhere"))).empty


def test_a_field_a_function_and_a_removal():
    old = desired(chunk("a", mode="0644"), chunk("s", state="service", fun="running"), chunk("gone"))
    new = desired(chunk("a", mode="0600", user="root"), chunk("s", state="service", fun="dead"))
    result = plan(old, new)
    assert kinds(result) == {"a": ChangeKind.CHANGED, "s": ChangeKind.CHANGED, "gone": ChangeKind.REMOVED}
    fields = {(each.name, each.old, each.new) for each in result.changes[0].fields}
    assert fields == {("mode", "0644", "0600"), ("user", None, "root")}
    assert ran(result, new) == ["a", "s"]
    assert headline(result) == "2 changed, 1 removed"


def test_values_that_are_equal_to_python_but_not_to_people():
    assert not plan(desired(chunk("a", x=None)), desired(chunk("a"))).empty


def test_content_alone():
    old, new = desired(chunk("a"), contents={"a": "1"}), desired(chunk("a"), contents={"a": "2"})
    assert kinds(plan(old, new)) == {"a": ChangeKind.CONTENT}


def test_watchers_are_triggered_again_and_requirements_come_along():
    service = chunk("nginx", state="service", fun="running", watch=[{"file": "conf"}], require=[{"pkg": "nginx-pkg"}])
    package = chunk("nginx-pkg", state="pkg", fun="installed")
    listener = chunk("reload", state="cmd", fun="run", onchanges=[{"service": "nginx"}])
    other = chunk("other", require=[{"file": "conf"}])
    old = desired(package, chunk("conf", contents="1"), service, listener, other)
    new = desired(package, chunk("conf", contents="2"), service, listener, other)
    result = plan(old, new)
    assert kinds(result) == {
        "conf": ChangeKind.CHANGED,
        "nginx": ChangeKind.RETRIGGERED,
        "reload": ChangeKind.RETRIGGERED,
    }
    assert ran(result, new) == ["nginx-pkg", "conf", "nginx", "reload"]


def test_sls_requisites_reach_every_chunk_of_it():
    common = [chunk("a", sls="common"), chunk("b", sls="common")]
    old = desired(*common, chunk("x", contents="1", require=[{"sls": "common"}]))
    new = desired(*common, chunk("x", contents="2", require=[{"sls": "common"}]))
    assert ran(plan(old, new), new) == ["a", "b", "x"]


def test_cycles_of_listeners_end():
    first = chunk("a", listen=[{"file": "b"}])
    second = chunk("b", listen=[{"file": "a"}])
    result = plan(desired(chunk("a"), second), desired(first, second))
    assert kinds(result) == {"a": ChangeKind.CHANGED, "b": ChangeKind.RETRIGGERED}


def test_text_shows_signs_and_multiline_values_as_a_diff():
    old = desired(chunk("a", contents="one\ntwo\n"), chunk("gone"))
    new = desired(chunk("a", contents="one\nthree\n"), chunk("more"))
    text = plan_text(plan(old, new))
    assert "~ a (file.managed)" in text
    assert "-two" in text
    assert "+three" in text
    assert "+ more (file.managed)" in text
    assert "- gone (file.managed)  no longer managed" in text


def gatherer(text, **more):
    return chunk("g", fun="accumulated", filename="/etc/hosts", text=text, require_in=[{"file": "hosts"}], **more)


def test_the_file_of_an_accumulated_text_runs_with_it():
    hosts = chunk("hosts", fun="blockreplace", name="/etc/hosts")
    new = desired(gatherer("b"), chunk("other"), hosts)
    result = plan(desired(gatherer("a"), chunk("other"), hosts), new)
    assert kinds(result) == {"g": ChangeKind.CHANGED, "hosts": ChangeKind.RETRIGGERED}
    assert ran(result, new) == ["g", "hosts"]


def test_a_file_runs_with_all_texts_that_are_gathered_for_it():
    def hosts(content):
        return chunk("hosts", fun="blockreplace", name="/etc/hosts", content=content)

    new = desired(gatherer("a"), hosts("2"))
    assert ran(plan(desired(gatherer("a"), hosts("1")), new), new) == ["g", "hosts"]


def test_a_file_that_loses_a_text_runs():
    hosts = chunk("hosts", fun="blockreplace", name="/etc/hosts")
    new = desired(hosts)
    result = plan(desired(gatherer("a"), hosts), new)
    assert kinds(result) == {"hosts": ChangeKind.RETRIGGERED, "g": ChangeKind.REMOVED}
    assert ran(result, new) == ["hosts"]


def test_what_reads_a_path_runs_with_the_state_that_writes_it():
    copy = chunk("copy", fun="copy", name="/b", source="/a", require=[{"file": "/a"}])
    below = chunk("below", name="/c", source=["file:///t/x/y"])
    command = chunk("c", state="cmd", fun="run", name="cat /a", creates="/a", cwd="/t")
    aside = chunk("aside", name="/d", source="/ab", require=[{"file": "/a"}])
    chunks = (
        chunk("/a"),
        chunk("tree", state="git", fun="latest", name="url", target="/t"),
        copy,
        below,
        command,
        aside,
    )
    new = desired(*chunks, contents={"/a": "2", "tree": "2"})
    result = plan(desired(*chunks, contents={"/a": "1", "tree": "1"}), new)
    assert ran(result, new) == ["/a", "tree", "copy", "below"]
    assert {change.chunk.id: len(change.because) for change in result.changes if change.because} == {
        "copy": 1,
        "below": 1,
    }


def test_a_reader_of_a_path_does_not_run_its_writer():
    def copy(mode):
        return chunk("copy", fun="copy", name="/b", source="/a", mode=mode)

    new = desired(chunk("/a"), copy("0644"))
    assert ran(plan(desired(chunk("/a"), copy("0600")), new), new) == ["copy"]


def asks(identity, *conditions, kind="onlyif"):
    return chunk(identity, state="cmd", fun="run", name="make", **{kind: list(conditions)})


def test_what_asks_of_a_path_runs_with_the_state_that_writes_it():
    chunks = (
        chunk("/a/b"),
        asks("whole", "test -f /a/b"),
        asks("quoted", "grep -q x '/a/b'"),
        asks("below", "test -f /a/b/c", kind="unless"),
        asks("function", {"fun": "file.contains", "path": "/a/b", "text": "x"}, kind="unless"),
        asks("longer", "test -f /a/bc"),
        asks("above", "test -d /a"),
        chunk("/c", onlyif="test -f /a/b"),
    )
    new = desired(*chunks, contents={"/a/b": "2"})
    assert ran(plan(desired(*chunks, contents={"/a/b": "1"}), new), new) == [
        "/a/b", "whole", "quoted", "below", "function", "/c",
    ]  # fmt: skip


def test_what_asks_of_what_a_command_names_runs_with_it():
    def command(number):
        return chunk("command", state="cmd", fun="run", name=f"echo {number} > /a/b; ls /etc")

    rest = (asks("reads", "test -f /a/b"), asks("far", "test -f /etc/hosts"))
    new = desired(command(2), *rest)
    assert ran(plan(desired(command(1), *rest), new), new) == ["command", "reads"]


def test_what_asks_of_a_package_service_or_user_runs_with_its_state():
    def sides(number):
        return (
            chunk("tools", state="pkg", fun="installed", pkgs=["jq", "curl"], version=number),
            chunk("nginx", state="service", fun="running", sig=number),
            chunk("web", state="user", fun="present", shell=number),
            asks("package", "dpkg -s jq"),
            asks("service", "systemctl is-active nginx", kind="unless"),
            asks("user", {"fun": "user.info", "name": "web"}),
            asks("other", "systemctl is-active nginx-exporter"),
        )

    new = desired(*sides(2))
    ids = ["tools", "nginx", "web", "package", "service", "user"]
    assert ran(plan(desired(*sides(1)), new), new) == ids


def test_a_later_edit_of_a_file_runs_with_an_earlier_one():
    chunks = (chunk("motd", name="/a"), chunk("more", fun="append", name="/a", text="x"), chunk("other", name="/b"))
    new = desired(*chunks, contents={"motd": "2"})
    assert ran(plan(desired(*chunks, contents={"motd": "1"}), new), new) == ["motd", "more"]
    changed = (chunks[0], chunk("more", fun="append", name="/a", text="y"), chunks[2])
    new = desired(*changed)
    assert ran(plan(desired(*chunks), new), new) == ["more"]


def test_arguments_differ_by_the_path_of_their_keys():
    ports = [{"name": f"port{number}", "number": number} for number in range(20)]
    server = {"port": 80, "names": ["a", "b"], "tls": {"cert": "one", "key": "k"}, "motd": "x\ny\n", "ports": ports}
    changed = {
        "port": 81,
        "names": ["a", "c"],
        "tls": {"cert": "two", "key": "k"},
        "motd": "x\nz\n",
        "ports": [*ports[:-1], {"name": "port19", "number": 99}],
        "fresh": {"a": 1, "b": 2},
    }
    old, new = (desired(chunk("a", context={"server": each, "same": "s" * 999})) for each in (server, changed))
    assert plan_text(plan(old, new)).splitlines() == [
        "~ a (file.managed)",
        "    context:server:port: 80 -> 81",
        '    context:server:names: ["a", "b"] -> ["a", "c"]',
        "    context:server:tls:cert: one -> two",
        "    context:server:motd:",
        "      @@ -1,2 +1,2 @@",
        "       x",
        "      -y",
        "      +z",
        "    context:server:ports:19:number: 19 -> 99",
        "    context:server:fresh:a: (none) -> 1",
        "    context:server:fresh:b: (none) -> 2",
    ]


def test_long_lists_differ_by_their_items():
    old, new = (
        desired(chunk("a", pkgs=[f"package-{number}" for number in numbers])) for numbers in (range(20), range(21))
    )
    lines = plan_text(plan(old, new)).splitlines()
    assert lines[1] == "    pkgs:"
    assert lines[-1] == "      +package-20"
    assert len(lines) == 6
