"""The states of examples/databases on real servers: foretold, carried out, and then there is nothing to do."""

import io
import json
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from mariadb_server import MariadbServer, is_there

from minion.call.call import main
from minion.call.options import CallOptions

EXAMPLE = Path(__file__).parents[2] / "examples" / "databases"


@pytest.fixture
def configuration(tmp_path):
    """The folder of a minion's configuration, which says where the servers of the test are."""
    pytest.importorskip("redis")
    if not is_there() or not shutil.which("redis-server"):
        pytest.skip("there is no MariaDB or no Redis")
    mariadb, socket = MariadbServer(), tmp_path / "redis.sock"
    words = ["redis-server", "--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", str(tmp_path)]
    redis = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while not socket.exists():
        assert time.monotonic() < end, "Redis does not answer"
        time.sleep(0.02)
    (tmp_path / "minion").write_text(
        f"id: db1\nroot_dir: {tmp_path}/root\nmysql.unix_socket: {mariadb.socket}\nmysql.user: root\n"
        f"redis.unix_socket_path: {socket}\n"
    )
    yield tmp_path
    redis.terminate()
    redis.wait()
    mariadb.close()


def test_it_makes_what_the_application_needs(configuration):
    shop = {
        "password": 'it\'s "secret"',
        "file": str(configuration / "shop.sqlite"),
        "settings": {"theme": "dark", "page_size": 50},
        "retired": ["shop:banner"],
        "jobs": {"report": 4},
    }

    def call(fun, *args):
        out, err = io.StringIO(), io.StringIO()
        roots = {"file_root": (str(EXAMPLE / "states"),), "pillar_root": (str(EXAMPLE / "pillar"),)}
        options = CallOptions(fun=fun, args=args, local=True, config_dir=configuration, out="json", **roots)
        main(options, out, err)
        assert not err.getvalue()
        return json.loads(out.getvalue())["local"]

    def apply(*more):
        ran = call("state.sls", "databases", f"pillar={json.dumps({'apps': {'shop': shop}})}", *more)
        return {entry["__id__"]: entry for entry in ran.values()}

    assert call("redis.set_key", "shop:banner", "old") is True
    foretold = apply("test=True")
    assert {entry["result"] for entry in foretold.values()} == {None}
    assert call("mysql.db_exists", "shop") is False
    assert not (configuration / "shop.sqlite").exists()
    done = apply()
    assert {name for name, entry in done.items() if entry["result"] is not True} == set()
    known = {name for name, entry in foretold.items() if entry["changes"]}
    assert known >= {"shop database", "shop user", "shop:theme", "shop retired settings", "shop_jobs"}
    assert {name: foretold[name]["changes"] for name in known} == {name: done[name]["changes"] for name in known}
    assert "secret" not in json.dumps(done)
    assert call("mysql.verify_login", "shop", shop["password"]) is True
    assert call("mysql.grant_exists", "select, delete", "shop.*", "shop") is True
    assert (call("redis.get_key", "shop:page_size"), call("redis.keys", "shop:banner")) == ("50", [])
    assert call("sqlite3.fetch", shop["file"], "SELECT * FROM shop_jobs") == [["report", 4]]
    assert {name for name, entry in apply().items() if entry["changes"]} == set()
