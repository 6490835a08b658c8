"""A real MariaDB server."""

import pytest
from mariadb_server import MariadbServer, is_there


@pytest.fixture(scope="module")
def login():
    if not is_there():
        pytest.skip("there is no MariaDB server")
    server = MariadbServer()
    yield {"connection_unix_socket": server.socket, "connection_user": "root"}
    server.close()
