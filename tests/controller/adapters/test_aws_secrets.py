"""Secrets Manager and Parameter Store as pillar, against moto: a stateful server of AWS's protocol."""

import pytest
from botocore.session import Session
from moto.server import ThreadedMotoServer

from controller.adapters.sdb import Profiles
from controller.compilation.compile_ports import ports_of
from controller.config.sections import PortOptions, SdbProfile
from highstate.compile import CompileOptions, compile_minion
from highstate.dummy_ports import without_secrets
from highstate.files import MemoryFiles
from highstate.ports import SecretFailed, SourceFailed
from highstate.types import Minion

WEB = Minion(id="web1", grains={"id": "web1", "os": "Debian", "roles": ["web", "app"]})
KEYS = {"region": "eu-central-1", "keyid": "AKIAEXAMPLE", "key": "hidden-key"}


@pytest.fixture(scope="module")
def aws():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"

    def client(service):
        return Session().create_client(
            service,
            region_name=KEYS["region"],
            endpoint_url=url,
            aws_access_key_id=KEYS["keyid"],
            aws_secret_access_key=KEYS["key"],
        )

    secrets, parameters = client("secretsmanager"), client("ssm")
    secrets.create_secret(Name="app/web1", SecretString='{"user": "u", "password": "p4ssw0rd"}')
    secrets.create_secret(Name="app/token", SecretString="t0ken")
    secrets.create_secret(Name="app/number", SecretString="[1]")
    secrets.create_secret(Name="app/blob", SecretBinary=b"\xff\x00")
    for role, port_of in (("web", 80), ("app", 8080)):
        secrets.create_secret(
            Name=f"roles/{role}", SecretString=f'{{"ports": {{"{role}": {port_of}}}, "list": [{port_of}]}}'
        )
    for name, value, kind in (
        ("/app/web1/db/password", "pw", "SecureString"),
        ("/app/web1/db/user", "u", "String"),
        ("/app/web1/debug", "no", "String"),
        ("/app/web10/debug", "other", "String"),
        *((f"/many/p{number:02}", str(number), "String") for number in range(25)),
        ("/odd/a", "1", "String"),
        ("/odd/a/b", "2", "String"),
    ):
        parameters.put_parameter(Name=name, Value=value, Type=kind)
    yield {"endpoint_url": url, **KEYS}, secrets
    secrets.close()
    parameters.close()
    server.stop()


def source(name):
    return ports_of(PortOptions(gpg_keydir=f"/of/{name}")).pillar_sources[name]


def test_secrets_by_sdb(aws):
    account, _ = aws
    profiles = Profiles(
        {
            "app": SdbProfile.parse({"driver": "aws_secrets_manager", "keys": ["app/*"], **account}),
            "json": SdbProfile.parse({"driver": "aws_secrets_manager", "keys": ["*"], "format": "json", **account}),
            "params": SdbProfile.parse({"driver": "aws_ssm", "keys": ["/app/web1/*", "/odd/*"], **account}),
            "wrong": SdbProfile.parse({"driver": "aws_ssm", "keys": ["*"], "vault_url": "x", **account}),
        }
    )
    assert profiles.get("sdb://app/app/token") == "t0ken"
    assert profiles.get("sdb://app/app/web1") == {"user": "u", "password": "p4ssw0rd"}
    assert profiles.get("sdb://app/app/web1?password") == "p4ssw0rd"
    assert profiles.get("sdb://app/app/web1?none") is None
    assert profiles.get("sdb://app/app/none") is None
    assert profiles.get("sdb://app/app/number") == "[1]"
    assert profiles.get("sdb://json/app/number") == [1]
    assert profiles.get("sdb://params//app/web1/db/password") == "pw"
    assert profiles.get("sdb://params//app/web1/") == {"db": {"password": "pw", "user": "u"}, "debug": "no"}
    for uri, says in (
        ("sdb://app/roles/web", "does not list 'roles/web'"),
        ("sdb://json/app/token", "is no JSON"),
        ("sdb://params//odd/", "as a value and as a folder"),
        ("sdb://wrong/x", "does not take vault_url"),
    ):
        with pytest.raises(SecretFailed, match=says):
            profiles.get(uri)


def test_secrets_are_pillar(aws):
    account, _ = aws
    read = lambda **more: source("aws_secrets_manager").pillar(WEB, {"env": "x"}, {**account, **more})  # noqa: E731
    assert read(secrets="app/{minion}") == {"user": "u", "password": "p4ssw0rd"}
    assert read(secrets="app/token") == {"token": "t0ken"}
    assert read(secrets="app/number") == {"number": "[1]"}
    assert read(secrets="app/number", format="json") == {"number": [1]}
    assert read(secrets="app/{minion}", format="text") == {"web1": '{"user": "u", "password": "p4ssw0rd"}'}
    assert read(secrets="app/blob") == {"blob": b"\xff\x00"}
    assert read(secrets=["app/token", "app/{minion}"], nesting_key="of") == {
        "of": {"token": "t0ken", "user": "u", "password": "p4ssw0rd"}
    }
    both = {"ports": {"web": 80, "app": 8080}, "list": [8080]}
    assert read(secrets="roles/{grains[roles]}") == both
    assert read(secrets="roles/{grains[roles]}", merge_lists=True) == {**both, "list": [80, 8080]}
    assert read(secrets="app/nothing") == {}
    assert read(secrets="app/{grains[none]}") == {}
    assert read(secrets="app/{pillar[env]}") == {}


def test_parameters_are_pillar(aws):
    account, _ = aws
    read = lambda name: source("aws_ssm").pillar(WEB, {}, {**account, "parameters": name})  # noqa: E731
    assert read("/app/{minion}/") == {"db": {"password": "pw", "user": "u"}, "debug": "no"}
    assert read("/app/{minion}/db/password") == {"password": "pw"}
    assert len(read("/many/")) == 25, "answers come in pages of ten"
    assert read("/none/") == {}
    assert read("/none/x") == {}
    with pytest.raises(SourceFailed, match="as a value and as a folder"):
        read("/odd/")


def test_what_cannot_be_read_is_an_error_without_credentials(aws, monkeypatch):
    account, _ = aws
    for given, says in (
        ({"secrets": "a", "more": 1}, "does not take more"),
        ({"secrets": []}, "is a name, or a list of names"),
        ({"secrets": "app/../x"}, "leads upwards"),
        ({"secrets": "app/token", "format": "json"}, "is no JSON"),
        ({"secrets": "app/token", "format": "xml"}, "format is one of"),
        ({"secrets": "a", "key": None}, "given together"),
        ({"secrets": "a", "region": "no such region"}, "cannot be asked: InvalidRegionError"),
        ({"secrets": "a", "endpoint_url": "http://127.0.0.1:9"}, "cannot be asked for 'a': EndpointConnectionError"),
        ({"secrets": "a", "profile": "none"}, "cannot be asked: ProfileNotFound"),
    ):
        with pytest.raises(SourceFailed, match=says) as failed:
            source("aws_secrets_manager").pillar(WEB, {}, {**account, **given})
        assert "hidden-key" not in str(failed.value)
        assert "AKIA" not in str(failed.value)


def test_an_answer_is_asked_for_once_a_minute(aws):
    from controller.adapters.external_pillars import SECRETS_MANAGER, NamedSecrets

    account, secrets = aws
    now = [0.0]
    one = NamedSecrets(SECRETS_MANAGER, clock=lambda: now[0])
    secrets.create_secret(Name="turns", SecretString="old")
    ask = {**account, "secrets": "turns"}
    assert one.pillar(WEB, {}, ask) == {"turns": "old"}
    secrets.put_secret_value(SecretId="turns", SecretString="new")
    now[0] = 59.0
    assert one.pillar(WEB, {}, ask) == {"turns": "old"}
    now[0] = 61.0
    assert one.pillar(WEB, {}, ask) == {"turns": "new"}


def test_a_compile_knows_what_is_secret_and_a_restricted_one_has_none(aws):
    account, _ = aws
    entry = {"aws_secrets_manager": {**account, "secrets": "app/{minion}"}}
    tree = MemoryFiles(
        {"base": {"top.sls": b"base:\n  '*': [s]\n", "s.sls": b"{{ pillar.get('password', 'none') }}: {test.nop: []}"}}
    )
    options = CompileOptions(ext_pillar=(entry,))
    ports = ports_of(PortOptions())
    done = compile_minion(tree, MemoryFiles({}), WEB, options, None, ports)
    assert done.errors == ()
    assert [chunk.id for chunk in done.lowstate] == ["p4ssw0rd"]
    assert {"p4ssw0rd", "u"} <= set(done.secrets)
    dummies = compile_minion(tree, MemoryFiles({}), WEB, options, None, without_secrets(ports))
    assert [chunk.id for chunk in dummies.lowstate] == ["none"]
