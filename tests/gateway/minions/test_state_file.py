"""High data for a stock minion out of the chunks of a document."""

import json
from dataclasses import replace

from gateway.minions.state_file import state_file
from highstate.types import Chunk


def chunk(state, fun, identifier, name=None, **arguments):
    name = name or identifier
    return Chunk(state=state, fun=fun, id=identifier, name=name, sls="web", saltenv="prod", arguments=arguments)


def high(chunks, keys=None):
    text = state_file(chunks, tuple(chunks) if keys is None else keys).decode()
    assert text.startswith("#!json\n")
    return json.loads(text.partition("\n")[2])


def keyed(*chunks):
    return {each.tag: replace(each, order=order) for order, each in enumerate(chunks, start=10_000)}


def test_a_state_stands_with_its_function_arguments_order_and_place():
    found = high(keyed(chunk("pkg", "installed", "nginx"), chunk("file", "managed", "/etc/x", mode="0644")))
    assert found == {
        "nginx": {"__sls__": "web", "__env__": "prod", "pkg": ["installed", {"order": 10_000}]},
        "/etc/x": {"__sls__": "web", "__env__": "prod", "file": ["managed", {"order": 10_001}, {"mode": "0644"}]},
    }


def test_an_id_with_two_states_and_a_name_of_its_own():
    found = high(keyed(chunk("pkg", "installed", "web", "nginx"), chunk("service", "running", "web", "nginx")))
    assert found["web"]["pkg"] == ["installed", {"order": 10_000}, {"name": "nginx"}]
    assert found["web"]["service"] == ["running", {"order": 10_001}, {"name": "nginx"}]


def test_states_of_several_names_go_back_into_one():
    found = high(
        keyed(chunk("pkg", "installed", "tools", "vim"), chunk("pkg", "installed", "tools", "git", version="1"))
    )
    assert found["tools"]["pkg"] == [
        "installed",
        {"names": [{"vim": [{"order": 10_000}]}, {"git": [{"order": 10_001}, {"version": "1"}]}]},
    ]


def test_all_states_keep_their_requisites():
    chunks = keyed(
        chunk("file", "managed", "/a"), chunk("service", "running", "x", watch=[{"file": "/a"}, {"sls": "web"}])
    )
    assert {"watch": [{"file": "/a"}, {"sls": "web"}]} in high(chunks)["x"]["service"]


def test_a_part_leaves_out_what_names_none_of_it():
    chunks = keyed(
        chunk("file", "managed", "/a"),
        chunk("file", "managed", "/b"),
        chunk("service", "running", "x", require=[{"file": "/a"}, {"file": "/b"}], onchanges=[{"file": "/a"}]),
    )
    keys = [key for key in chunks if "/a" not in key]
    found = high(chunks, keys)
    assert set(found) == {"/b", "x"}
    assert found["x"]["service"] == ["running", {"order": 10_002}, {"require": [{"file": "/b"}]}]


def test_a_part_leaves_out_who_is_to_listen_and_is_not_in_it():
    chunks = keyed(
        chunk("file", "managed", "/a", listen_in=[{"service": "x"}, {"service": "y"}]),
        chunk("service", "running", "x"),
        chunk("service", "running", "y"),
    )
    found = high(chunks, [key for key in chunks if "y" not in key.split("_|-")[1]])
    assert found["/a"]["file"] == ["managed", {"order": 10_000}, {"listen_in": [{"service": "x"}]}]


def test_what_salt_puts_into_chunks_is_not_given_back():
    found = high(keyed(chunk("file", "managed", "/a", __prereq__=True, __agg__=True, __sls_included_from__=["x"])))
    assert found["/a"]["file"] == ["managed", {"order": 10_000}]
