"""Who may call what: Salt's rules, and the ways around them that must lead nowhere."""

import pytest
import yaml

from controller.access.decision import AskedFunction, decide_calls, decide_peer, decide_role
from controller.access.principals import NOBODY, Principal
from controller.config.access import read_access
from options.document import parse_document

RULES = """
publisher_acl:
  alice:
    - test.*
    - web*: [service.restart, {cmd.run: {args: ['ls .*', null], kwargs: {cwd: /srv/.*}}}]
  'ops-.*': [grains.items]
  web%: [{'*': disk.usage}]
  runner%: ['@runner', {'@wheel': [key.list_all]}, {'@jobs': [list_jobs]}]
  jobs%: ['@jobs']
  '*': [test.ping]
external_auth:
  pam:
    alice: [pkg.*]
publisher_acl_blacklist:
  users: [mallory, 'ex-*']
  modules: [cmd.shell, 'file.*']
api_roles:
  viewer: [alice, 'look%']
  operator: [olga]
  admin: ['admins%']
"""
FLEET = {"web*": {"web1", "web2"}, "*": {"web1", "web2", "db1"}}


@pytest.fixture(scope="module")
def settings():
    faults = []
    found = read_access(parse_document(RULES, "controller"), faults)
    assert faults == []
    return found


def may(settings, who, fun, minions=("web1",), *, args=(), kind="minion", **kwargs):
    principal = who if isinstance(who, Principal) else Principal(name=who)
    calls = [AskedFunction(kind=kind, fun=each, args=args, kwargs=kwargs) for each in fun.split(",")]
    found = decide_calls(
        principal, calls, frozenset(minions), settings, lambda target: frozenset(FLEET.get(target, ()))
    )
    assert found.why
    return found.allowed


def test_rules_as_in_salt(settings):
    assert may(settings, "alice", "test.ping", ["db1"])
    assert may(settings, "alice", "service.restart", ["web1", "web2"])
    assert not may(settings, "alice", "service.restart", ["web1", "db1"])
    assert not may(settings, "alice", "service.restart", [])
    assert not may(settings, "alice", "service.stop")
    assert may(settings, "ops-1", "grains.items")
    assert not may(settings, "devops-1", "grains.items")
    assert may(settings, "someone", "test.ping")
    assert not may(settings, "ops-1", "test.ping"), "who has an entry has none of `*`"
    assert may(settings, Principal(name="x", groups=frozenset({"web"})), "disk.usage", ["db1"])


def test_conditions_for_arguments(settings):
    assert may(settings, "alice", "cmd.run", args=["ls /srv", "x"], cwd="/srv/a")
    assert not may(settings, "alice", "cmd.run", args=["ls /srv"], cwd="/srv/a"), "fewer than the rule names"
    assert not may(settings, "alice", "cmd.run", args=["ls /srv", "x"])
    assert not may(settings, "alice", "cmd.run", args=["rm /srv", "x"], cwd="/srv/a")
    assert not may(settings, "alice", "cmd.run", args=["ls /srv\n; rm", "x"], cwd="/srv/a")
    assert not may(settings, "alice", "cmd.run", args=["ls " + "a" * 20_000, "x"], cwd="/srv/a")
    assert not may(settings, "alice", "cmd.run", ["db1"], args=["ls /srv", "x"], cwd="/srv/a")


def test_a_refusal_says_what_no_rule_covers(settings):
    def why(fun, minions, *args):
        call = AskedFunction(kind="minion", fun=fun, args=args, kwargs={"cwd": "/srv/a"})
        alice = Principal(name="alice")
        return decide_calls(alice, [call], minions, settings, lambda target: frozenset(FLEET.get(target, ()))).why

    web, both = frozenset({"web1"}), frozenset({"web1", "db1"})
    assert (
        why("cmd.run", both, "ls /srv", "x")
        == "no rule of publisher_acl lets alice call cmd.run on all of these minions"
    )
    assert why("cmd.run", web, "id", "x") == "no rule of publisher_acl lets alice call cmd.run with these arguments"
    assert why("pkg.remove", web) == "no rule of publisher_acl lets alice call pkg.remove"


def test_whether_there_are_minions_on_which_a_call_is_allowed(settings):
    def somewhere(who, fun, *args):
        call = AskedFunction(kind="minion", fun=fun, args=args)
        return decide_calls(Principal(name=who), [call], None, settings, lambda _: frozenset()).allowed

    assert somewhere("alice", "service.restart")
    assert somewhere("alice", "test.ping")
    assert not somewhere("alice", "service.stop")
    assert not somewhere("alice", "cmd.run", "id", "x")
    assert not somewhere("mallory", "test.ping")
    assert not somewhere("alice", "cmd.shell")


def test_runners_and_wheels(settings):
    all_runners = Principal(name="r", groups=frozenset({"runner"}))
    of_jobs = Principal(name="j", groups=frozenset({"jobs"}))
    assert may(settings, all_runners, "state.orchestrate", (), kind="runner")
    assert may(settings, all_runners, "key.list_all", (), kind="wheel")
    assert not may(settings, all_runners, "key.accept", (), kind="wheel")
    assert not may(settings, all_runners, "cmd.run")
    assert may(settings, of_jobs, "jobs.active", (), kind="runner")
    assert not may(settings, of_jobs, "jobs.active", (), kind="wheel")
    assert not may(settings, of_jobs, "jobsx.active", (), kind="runner")
    assert not may(settings, "alice", "test.arg", (), kind="runner"), "rules for minions are none for runners"


@pytest.mark.parametrize(
    "fun",
    [
        "test.ping,cmd.run",  # Salt asks for a rule for one of them
        "cmd.run,test.ping",
        "CMD.RUN",
        "Test.ping",
        "cmdmod.run",
        "test.ping\ncmd.run",
        "test.ping ",
        " test.ping",
        "test.ping;cmd.run",
        "test.*",
        "test._private.x",
        "test",
        "",
        "t\u0435st.ping",  # a Cyrillic letter
        "module.run",
        "state.single",
        "saltutil.cmd",
        "schedule.add",
        "mine.send",
        "publish.publish",
        "xtest.ping",
    ],
)
def test_no_way_around_a_rule(settings, fun):
    assert not may(settings, "alice", fun), fun


def test_a_pattern_is_one_of_the_whole_name(settings):
    assert not may(settings, "someone", "test.ping_all"), "in Salt, test.ping allows it"


def test_the_blacklist_comes_first(settings):
    assert not may(settings, "mallory", "test.ping")
    assert not may(settings, "ex-alice", "test.ping")
    assert not may(settings, Principal(name="alice", method="pam"), "file.read")
    admin = Principal(name="a", groups=frozenset({"admins"}))
    assert may(settings, admin, "file.read", ["db1"])
    assert may(settings, Principal(name="root", everything=True), "cmd.shell")


AROUND = yaml.safe_load("""
- [module.run, [cmd.shell, id]]
- [module.run, [], {name: cmd.shell, cmd: id}]
- [module.run, [], {cmd.shell: [{cmd: id}]}]
- [state.single, [cmd.shell, id]]
- [state.single, ['file.managed', /etc/x]]
- [saltutil.cmd, ['*', cmd.shell], {arg: [id]}]
- [schedule.add, [job], {function: cmd.shell, job_args: [id], seconds: 1}]
- [schedule.modify, [job, 'function=x'], {function: 'test.ping, cmd.shell'}]
- [mine.send, [all], {mine_function: cmd.shell}]
- [mine.update, [], {mine_functions: {all: [{mine_function: cmd.shell}]}}]
- [publish.publish, ['*', cmd.shell, id]]
- [publish.publish, ['*', ' cmd.shell ', id]]
- [beacons.add, [x, [{function: {deep: [[[cmd.shell]]]}}]]]
- [salt.execute, ['*', cmd.shell], {}, runner]
- [salt.cmd, [file.read], {}, runner]
""")


@pytest.mark.parametrize("asked", AROUND, ids=str)
def test_the_blacklist_holds_through_functions_that_call_others(asked):
    faults = []
    rules = "{publisher_acl: {bob: ['.*', '@runner']}, publisher_acl_blacklist: {modules: [cmd.shell, 'file.*']}}"
    settings = read_access(parse_document(rules, "controller"), faults)
    fun, args, kwargs, kind = [*asked, *[[], {}, "minion"][len(asked) - 1 :]]
    assert not may(settings, "bob", fun, args=args, kind=kind, **kwargs)
    assert may(settings, "bob", fun, args=["test.ping"], kind=kind)
    assert may(settings, Principal(name="root", everything=True), fun, args=args, kind=kind, **kwargs)


def test_a_token_has_the_rules_of_its_method(settings):
    by_pam = Principal(name="alice", method="pam", token="1")
    assert may(settings, by_pam, "pkg.install")
    assert not may(settings, by_pam, "test.ping")
    assert not may(settings, Principal(name="alice", method="ldap"), "pkg.install")


def test_nobody_may_nothing(settings):
    assert not may(settings, NOBODY, "test.ping")
    assert not decide_role(NOBODY, "viewer", settings).allowed
    assert not decide_calls(Principal(name="alice"), [], frozenset(), settings, lambda _: frozenset()).allowed


def test_a_role_covers_those_below_it(settings):
    def has(who, role, *groups):
        return decide_role(Principal(name=who, groups=frozenset(groups)), role, settings).allowed

    assert has("alice", "viewer")
    assert not has("alice", "operator")
    assert has("olga", "viewer")
    assert has("olga", "operator")
    assert not has("olga", "admin")
    assert has("x", "admin", "admins")
    assert has("x", "viewer", "admins")
    assert has("x", "viewer", "look")
    assert not has("look", "viewer")
    assert not has("mallory", "viewer", "admins")


def test_a_name_is_no_pattern_in_a_role(settings):
    assert not decide_role(Principal(name="alic"), "viewer", settings).allowed
    faults = []
    globs = read_access(parse_document("api_roles: {admin: ['*']}", "controller"), faults)
    assert not decide_role(Principal(name="alice"), "admin", globs).allowed


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("publisher_acl: [alice]", "says nothing about users"),
        ("publisher_acl: {alice: []}", "there must be a list of functions"),
        ("publisher_acl: {alice: [1]}", "1 must be a pattern"),
        ("publisher_acl: {alice: [{'web* or R@%web': test.ping}]}", "no range server is asked about rules"),
        ("publisher_acl: {alice: ['(']}", "cannot be read"),
        ("publisher_acl: {alice: ['(?!x)']}", "looks ahead"),
        ("publisher_acl: {alice: [{a: [x], b: [x]}]}", "one target"),
        ("publisher_acl: {alice: [{a: []}]}", "without functions"),
        ("publisher_acl: {alice: ['@a/b']}", "neither @runner"),
        ("publisher_acl: {alice: [{a: {x: {argz: [1]}}}]}", "args or kwargs"),
        ("publisher_acl: {3: [x]}", "no name"),
        ("external_auth: {ldap: {alice: [x]}}", "there is no method 'ldap'"),
        ("external_auth: pam", "must be a mapping"),
        ("api_roles: {king: [alice]}", "there is no role 'king'"),
        ("api_roles: {viewer: {alice: 1}}", "list of names"),
        ("publisher_acl_blacklist: {user: [a]}", "lists of users and modules"),
        ("{client_acl: {alice: [x]}, publisher_acl: {bob: [x]}}", "client_acl is an older name of publisher_acl"),
        ("{client_acl_blacklist: {}, publisher_acl_blacklist: {}}", "client_acl_blacklist is an older name of"),
        ("token_expire: soon", "a number of seconds"),
        ("permissive_acl: 1", "true or false"),
        ("auth.pam.service: ../../tmp/x", "a file in /etc/pam.d"),
    ],
)
def test_what_cannot_be_read_is_an_error_at_its_place(text, fault):
    faults = []
    read_access(parse_document(text, "controller"), faults)
    [found] = faults
    assert fault in str(found)
    assert found.place.startswith("controller:1")


def test_older_names_mean_the_same():
    faults = []
    found = read_access(
        parse_document("client_acl: {alice: [x]}\nclient_acl_blacklist: {users: [bob]}", "controller"), faults
    )
    assert faults == []
    assert [entry.who for entry in found.publisher_acl] == ["alice"]
    assert found.blacklist_users == ("bob",)


PEERS = """
peer:
  'db\\d+': [test.*, {'web*': [cmd.run]}]
  '.*': [grains.get]
peer_run:
  mon: [manage.up]
"""


def peer_may(who, fun, minions=("web1",), kind="minion"):
    faults = []
    rules = read_access(parse_document(PEERS, "controller"), faults)
    assert faults == []
    call = AskedFunction(kind=kind, fun=fun)
    return decide_peer(who, call, frozenset(minions), rules, lambda each: frozenset(FLEET.get(each, ()))).allowed


def test_minions_may_what_peer_says():
    assert peer_may("db1", "test.ping", ["db1"])
    assert peer_may("db1", "cmd.run")
    assert peer_may("x", "grains.get")
    assert peer_may("mon", "manage.up", (), "runner")
    for who, fun, minions, kind in (
        ("db1", "cmd.run", ["db1"], "minion"),
        ("xdb1", "test.ping", ["web1"], "minion"),
        ("db1x", "test.ping", ["web1"], "minion"),
        ("db1\n", "test.ping", ["web1"], "minion"),
        ("x", "test.ping", ["web1"], "minion"),
        ("db1", "publish.publish", ["web1"], "minion"),
        ("db1", "test.ping,cmd.run", ["web1"], "minion"),
        ("mon", "manage.up", ["web1"], "minion"),
        ("db1", "manage.up", (), "runner"),
        ("mon", "manage.upx", (), "runner"),
    ):
        assert not peer_may(who, fun, minions, kind), (who, fun, kind)


@pytest.mark.parametrize("text", ["peer: {'a%': [x]}", "peer: {a: ['@runner']}", "peer_run: {a: [{'web*': [x]}]}"])
def test_what_peers_cannot_be_given_is_an_error(text):
    faults = []
    read_access(parse_document(text, "controller"), faults)
    assert len(faults) == 1
