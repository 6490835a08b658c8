"""What stands for MongoDB: nx-27017, which keeps documents and speaks MongoDB's protocol; users and their passwords
(SCRAM-SHA-256), which it has not, are kept before it, as the published commands say. What those have not is refused.
"""

import base64
import hashlib
import hmac
import importlib.util
import os
import socket
import socketserver
import struct
import subprocess
import sys
import tempfile
import threading
import time

from rig import free_ports

_OP_REPLY, _OP_QUERY, _OP_MSG = 1, 2004, 2013
_ITERATIONS = 4096
_START = "from nx_27017.nx_27017 import main; main()"
_OF_ALL = {"$db", "lsid", "$readPreference", "writeConcern", "$clusterTime", "comment"}
_FIELDS = {
    "createUser": {"createUser", "pwd", "roles", "customData", "mechanisms"},
    "updateUser": {"updateUser", "pwd", "roles", "customData", "mechanisms"},
    "dropUser": {"dropUser"},
    "usersInfo": {"usersInfo", "showPrivileges"},
    "grantRolesToUser": {"grantRolesToUser", "roles"},
    "revokeRolesFromUser": {"revokeRolesFromUser", "roles"},
}
_BEFORE_LOGIN = {"hello", "ismaster", "isMaster", "saslStart", "saslContinue", "endSessions", "buildInfo"}


def is_there() -> bool:
    """Whether its programs are installed."""
    return all(map(importlib.util.find_spec, ("pymongo", "nx_27017", "neosqlite")))


class MongodbServer:
    """`port` is where it answers the user `root` of `admin`, whose password is `root`, and whom that user makes."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="saltern-mongo-")
        [behind] = free_ports(1)
        name = self._folder.name
        command = [sys.executable, "-c", _START, "--data-dir", "memory", "-p", str(behind)]
        files = ["--log-file", f"{name}/log", "--pid-file", f"{name}/pid"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._behind = subprocess.Popen([*command, *files], cwd=name, **quiet)
        end = time.monotonic() + 60
        while not _answers(behind):
            assert time.monotonic() < end, "nx-27017 does not answer"
            time.sleep(0.05)
        self._front = _Front(("127.0.0.1", 0), _Connection)
        self._front.behind, self._front.users = behind, {}
        self._front.users["admin", "root"] = {"roles": [{"role": "root", "db": "admin"}], **_credentials("root")}
        self.port = self._front.server_address[1]
        self._thread = threading.Thread(target=self._front.serve_forever)
        self._thread.start()

    def close(self) -> None:
        """End it."""
        self._front.shutdown()
        self._thread.join()
        self._front.server_close()
        self._behind.kill()
        self._behind.wait()
        self._folder.cleanup()


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=10).close()
    except OSError:
        return False
    return True


class _Front(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


class _Connection(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        import bson

        self._login, self._exchange = None, None
        with socket.create_connection(("127.0.0.1", self.server.behind)) as behind:
            while message := _message(self.request):
                number, _, kind = struct.unpack("<iii", message[4:16])
                start = 21 if kind == _OP_MSG else message.index(b"\0", 20) + 9
                asked = bson.decode(message[start : start + struct.unpack_from("<i", message, start)[0]])
                answer = self._own(asked)
                if answer is None:
                    behind.sendall(message)
                    answer = self._of_behind(_message(behind), asked)
                if isinstance(answer, bytes):
                    self.request.sendall(answer)
                    continue
                body = bson.encode(answer)
                head = b"\0\0\0\0\0" if kind == _OP_MSG else struct.pack("<iqii", 8, 0, 0, 1)
                said = _OP_MSG if kind == _OP_MSG else _OP_REPLY
                self.request.sendall(struct.pack("<iiii", 16 + len(head) + len(body), 1, number, said) + head + body)

    def _of_behind(self, reply: bytes, asked: dict) -> object:
        """The reply as it is; to a greeting, with how passwords are checked."""
        import bson

        if not {"hello", "ismaster", "isMaster"}.intersection(asked):
            return reply
        start = 21 if struct.unpack("<i", reply[12:16])[0] == _OP_MSG else 36
        found = bson.decode(reply[start : start + struct.unpack_from("<i", reply, start)[0]])
        return {**found, **({"saslSupportedMechs": ["SCRAM-SHA-256"]} if "saslSupportedMechs" in asked else {})}

    def _own(self, asked: dict) -> dict | None:
        command = next(iter(asked))
        if command == "saslStart":
            return self._start(asked)
        if command == "saslContinue":
            return self._continue(asked)
        if self._login is None and command not in _BEFORE_LOGIN:
            return _fault(13, f"command {command} requires authentication")
        if command not in _FIELDS:
            return None
        if unknown := asked.keys() - _FIELDS[command] - _OF_ALL:
            return _fault(40415, f"BSON field '{command}.{min(unknown)}' is an unknown field.")
        return self._of_users(command, asked)

    def _of_users(self, command: str, asked: dict) -> dict:
        users, key = self.server.users, (asked["$db"], asked[command])
        if command == "usersInfo":
            named = [key] if key in users else [] if asked[command] != 1 else [one for one in users if one[0] == key[0]]
            return {"users": [_shown(one, users[one]) for one in named], "ok": 1.0}
        roles = [_role(one, asked["$db"]) for one in asked.get("roles", ())]
        if command == "createUser":
            if key in users:
                return _fault(51003, f'User "{key[1]}@{key[0]}" already exists')
            if "roles" not in asked:
                return _fault(40414, "BSON field 'createUser.roles' is missing but a required field")
            users[key] = {"roles": roles, **_credentials(asked["pwd"])}
            return {"ok": 1.0}
        if key not in users:
            return _fault(11, f"User '{key[1]}@{key[0]}' not found")
        found = users[key]
        if command == "dropUser":
            del users[key]
        elif command == "updateUser":
            if not {"pwd", "roles"}.intersection(asked):
                return _fault(2, "Must specify at least one field to update in updateUser")
            users[key] = {**found, **({"roles": roles} if "roles" in asked else {})}
            users[key] |= _credentials(asked["pwd"]) if "pwd" in asked else {}
        else:
            others = [one for one in found["roles"] if one not in roles]
            users[key] = {**found, "roles": others + (roles if command == "grantRolesToUser" else [])}
        return {"ok": 1.0}

    def _start(self, asked: dict) -> dict:
        first = asked["payload"].decode().removeprefix("n,,")
        fields = dict(part.split("=", 1) for part in first.split(","))
        key = (asked["$db"], fields["n"].replace("=2C", ",").replace("=3D", "="))
        user = self.server.users.get(key)
        if asked["mechanism"] != "SCRAM-SHA-256" or user is None:
            return _fault(18, "Authentication failed.")
        nonce = fields["r"] + base64.b64encode(os.urandom(12)).decode()
        said = f"r={nonce},s={base64.b64encode(user['salt']).decode()},i={_ITERATIONS}"
        self._exchange = (key, user, first, said)
        return {"conversationId": 1, "done": False, "payload": said.encode(), "ok": 1.0}

    def _continue(self, asked: dict) -> dict:
        key, user, first, said = self._exchange
        last = asked["payload"].decode()
        without, _, proof = last.rpartition(",p=")
        signed = f"{first},{said},{without}".encode()
        signature = hmac.digest(user["stored"], signed, "sha256")
        client = bytes(one ^ two for one, two in zip(base64.b64decode(proof), signature, strict=True))
        if hashlib.sha256(client).digest() != user["stored"]:
            return _fault(18, "Authentication failed.")
        self._login = key
        answer = b"v=" + base64.b64encode(hmac.digest(user["server"], signed, "sha256"))
        return {"conversationId": 1, "done": True, "payload": answer, "ok": 1.0}


def _message(connection: socket.socket) -> bytes:
    """The next one; empty where the connection ends."""
    head = _exactly(connection, 4)
    return head + _exactly(connection, struct.unpack("<i", head)[0] - 4) if head else b""


def _exactly(connection: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        try:
            part = connection.recv(count - len(found))
        except OSError:
            return b""
        if not part:
            return b""
        found += part
    return found


def _credentials(password: str) -> dict[str, bytes]:
    salt = os.urandom(28)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _ITERATIONS)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    return {"salt": salt, "stored": stored, "server": hmac.digest(salted, b"Server Key", "sha256")}


def _role(given: object, database: str) -> dict[str, str]:
    assert isinstance(given, str) or given.keys() == {"role", "db"}, given
    return {"role": given, "db": database} if isinstance(given, str) else given


def _shown(key: tuple[str, str], user: dict) -> dict:
    database, name = key
    fields = {"user": name, "db": database, "roles": user["roles"], "mechanisms": ["SCRAM-SHA-256"]}
    return {"_id": f"{database}.{name}", **fields}


def _fault(code: int, message: str) -> dict:
    return {"ok": 0.0, "errmsg": message, "code": code}
