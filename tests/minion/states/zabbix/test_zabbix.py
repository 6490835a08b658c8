"""States of Zabbix, on a real frontend."""

import re

import pytest
from zabbix_frontend import ZabbixFrontend, missing

from minion.execution import CallFailed, Context, Modules
from minion.machine.failure import StateFailed
from minion.providers.zabbix.definitions import fits
from minion.providers.zabbix.interfaces import interfaces_of, paired

pytestmark = pytest.mark.timeout(900)  # the database of a frontend has 170,000 rows

ADMIN = {"_connection_user": "Admin", "_connection_password": "zabbix"}


@pytest.fixture(scope="module")
def frontend():
    if why := missing():
        pytest.skip(why)
    frontend = ZabbixFrontend()
    yield frontend
    frontend.close()


@pytest.fixture
def zabbix(converge, frontend):
    """zabbix("host.present", name, **arguments)."""

    def call(fun, name, **arguments):
        return converge(f"zabbix_{fun}", name, **{**ADMIN, "_connection_url": frontend.url, **arguments})

    return call


def test_groups_of_hosts(zabbix, frontend):
    made = zabbix("hostgroup.present", "web & <1>")
    assert made.comment == "Host group web & <1> created."
    old, new = "Host group web & <1> does not exist.", "Host group web & <1> created."
    assert made.changes == {"web & <1>": {"old": old, "new": new}}
    assert zabbix("hostgroup.present", "web & <1>").comment == "Host group web & <1> already exists."
    assert zabbix("hostgroup.absent", "web & <1>").changes["web & <1>"]["new"] == "Host group web & <1> deleted."
    assert zabbix("hostgroup.absent", "web & <1>").comment == "Host group web & <1> does not exist."
    refused = zabbix("hostgroup.present", "web/")
    assert refused.comment.startswith("Unable to create host group web/. Zabbix API: Invalid params.")


def test_groups_of_users(zabbix, frontend):
    [group] = frontend.call("hostgroup.get", {"filter": {"name": "Linux servers"}})
    rights = [{"permission": 2, "id": group["groupid"]}]
    assert zabbix("usergroup.present", "monks", gui_access=1, rights=rights).changes
    assert (
        zabbix("usergroup.present", "monks", gui_access=1, rights=rights).comment == "User group monks already exists."
    )
    changed = zabbix(
        "usergroup.present", "monks", gui_access="2", debug_mode=1, rights=[{**rights[0], "permission": 3}]
    )
    assert changed.changes == {"gui_access": "2", "debug_mode": 1, "rights": [{**rights[0], "permission": 3}]}
    [found] = frontend.call("usergroup.get", {"filter": {"name": "monks"}, "selectRights": "extend"})
    assert (found["gui_access"], found["debug_mode"], found["rights"][0]["permission"]) == ("2", "1", "3")
    assert zabbix("usergroup.absent", "monks").comment == "User group monks deleted."


def test_users(zabbix, frontend):
    given = {"alias": "george", "passwd": "donottellanyonE@456x", "usrgrps": [7, "Guests"], "roleid": 1}
    media = [{"me@example.com": [{"mediatype": "mail"}, {"severity": "NIWAHD"}]},
             {"phone": [{"mediatype": "SMS"}, {"active": False}, {"sendto": "+42"}, {"severity": "D"}]}]  # fmt: skip
    made = zabbix("user.present", "x", medias=media, firstname="George", **given)
    assert made.changes == {"george": {"old": "User george does not exist.", "new": "User george created."}}
    [found] = frontend.call(
        "user.get", {"filter": {"username": "george"}, "selectMedias": "extend", "output": "extend"}
    )
    assert (found["name"], sorted(one["severity"] for one in found["medias"])) == ("George", ["32", "63"])
    assert (
        zabbix("user.present", "x", medias=media, firstname="George", **given).comment == "User george already exists."
    )
    changed = zabbix("user.present", "x", medias=media[:1], **{**given, "usrgrps": [8], "surname": "B"})
    assert set(changed.changes) == {"surname", "usrgrps", "medias"}
    reset = {**given, "usrgrps": [7], "passwd": "another.Secret7", "password_reset": True}
    assert zabbix("user.present", "x", medias=media[:1], **reset).changes["passwd"] == "updated"
    refused = zabbix("user.present", "x", **{**given, "alias": "eve", "passwd": "short"})
    assert refused.result is False
    assert "short" not in refused.comment.replace("shorter", "")
    assert zabbix("user.absent", "george").comment == "User george deleted."
    assert zabbix("user.absent", "george").comment == "User george does not exist."


def test_macros(zabbix, frontend):
    assert zabbix("usermacro.present", "{$PORT}", value=8080).comment == "Usermacro {$PORT} created."
    assert zabbix("usermacro.present", "{$PORT}", value="8081").changes == {"value": "8081"}
    assert zabbix("usermacro.present", "{$PORT}", value="8081", description="of it").changes == {"description": "of it"}
    assert zabbix("usermacro.absent", "{$PORT}").comment == "Usermacro {$PORT} deleted."
    [host] = frontend.call("host.get", {"filter": {"host": "Zabbix server"}})
    given = {"hostid": int(host["hostid"])}
    made = zabbix("usermacro.present", "{$SECRET}", value="hush", type=1, **given)
    assert made.comment == f"Usermacro {{$SECRET}} on hostid {host['hostid']} created."
    assert zabbix("usermacro.present", "{$SECRET}", value="other", type=1, **given).comment.endswith("already exists.")
    changed = zabbix("usermacro.present", "{$SECRET}", value="other", type=0, **given)
    assert changed.changes == {"type": 0}
    assert zabbix("usermacro.absent", "{$SECRET}", **given).result is True


def test_types_of_media(zabbix, frontend):
    mail = {"smtp_server": "smtp.example.org", "smtp_helo": "example.org", "smtp_email": "a@example.org"}
    assert zabbix("mediatype.present", "mine", mediatype=0, **mail).comment == "Mediatype mine created."
    changed = zabbix("mediatype.present", "mine", mediatype=0, **{**mail, "smtp_server": "other"}, smtp_port=587)
    assert changed.changes == {"smtp_server": "other", "smtp_port": 587}
    login = {"smtp_authentication": 1, "username": "me", "passwd": "hush"}
    shown = zabbix("mediatype.present", "mine", mediatype=0, **login).changes
    assert shown == {"smtp_authentication": 1, "username": "me", "passwd": "***"}
    script = {"exec_path": "tell.sh", "exec_params": ["a", "b"]}
    assert zabbix("mediatype.present", "script", mediatype=1, **script).result is True
    [found] = frontend.call("mediatype.get", {"filter": {"name": "script"}, "output": "extend"})
    assert found["exec_params"] == "a\nb\n"
    for name in ("mine", "script"):
        assert zabbix("mediatype.absent", name).changes


def test_hosts(zabbix, frontend):
    zabbix("hostgroup.present", "shop")
    interfaces = [
        {"shop1.example.org": [{"ip": "192.0.2.8"}, {"type": "Agent"}, {"port": 92}]},
        {"second": [{"ip": "192.0.2.9"}, {"dns": "b.example.org"}, {"type": "agent"}, {"main": False}]},
        {"switch": [{"ip": "192.0.2.10"}, {"type": "snmp"}]},
    ]
    given = {"host": "shop1", "groups": ["shop", "Linux servers"], "interfaces": interfaces,
             "inventory": [{"alias": "an alias"}, {"asset_tag": "jlm"}], "visible_name": "The shop"}  # fmt: skip
    made = zabbix("host.present", "x", **given)
    assert made.changes == {"shop1": {"old": "Host shop1 does not exist.", "new": "Host shop1 created."}}
    [linux] = frontend.call("hostgroup.get", {"filter": {"name": "Linux servers"}})
    [found] = frontend.call("host.get", {"filter": {"host": "shop1"}, "selectInterfaces": "extend"})
    kept = {one["port"]: one["interfaceid"] for one in found["interfaces"]}
    changed = zabbix(
        "host.present", "x",
        **{**given, "groups": [int(linux["groupid"])], "inventory": {"alias": "another"}, "status": 1,
           "interfaces": [{"shop2.example.org": {"ip": "192.0.2.8", "type": "agent", "port": 93}},
                          {"j": {"ip": "192.0.2.8", "type": "jmx"}}]},
    )  # fmt: skip
    assert set(changed.changes) == {"host", "inventory", "groups", "interfaces"}
    [found] = frontend.call(
        "host.get", {"filter": {"host": "shop1"}, "selectInterfaces": "extend", "selectInventory": "extend"}
    )
    assert (found["status"], found["inventory"]["alias"], found["inventory"]["asset_tag"]) == ("1", "another", "")
    assert {one["port"]: one["interfaceid"] for one in found["interfaces"]}["93"] == kept["92"]
    added = zabbix("host.present", "x", **{**given, "inventory": {"asset_tag": "t"}, "inventory_clean": False})
    assert added.changes["inventory"] == "{'asset_tag': 't'}"
    for bad, said in ((["none"], "Invalid group none"), (["shop"], "Invalid proxy_host gone")):
        assert zabbix("host.present", "x", **{**given, "groups": bad, "proxy_host": "gone"}).comment == said
    assert zabbix("host.absent", "shop1").comment == "Host shop1 deleted."
    assert zabbix("host.absent", "shop1").comment == "Host shop1 does not exist."


def test_proxies(zabbix, frontend):
    frontend.call("proxy.create", {"host": "far", "status": "5"})
    given = {"host": "shop2", "groups": ["Linux servers"], "interfaces": []}
    zabbix("host.present", "x", proxy_host="far", **given)
    assert zabbix("host.present", "x", **given).changes == {"proxy_hostid": "0"}
    zabbix("host.absent", "shop2")


def test_templates_of_hosts(zabbix, frontend):
    zabbix(
        "host.present",
        "x",
        host="shop3",
        groups=["Linux servers"],
        interfaces=[{"a": {"ip": "192.0.2.1", "type": "agent"}}],
    )
    [name] = [one["host"] for one in frontend.call("template.get", {"filter": {"host": "Linux by Zabbix agent"}})]
    made = zabbix("host.assign_templates", "x", host="shop3", templates=[name])
    assert made.comment == "Templates updated."
    assert re.fullmatch(r"Host templates: \d+", made.changes["shop3"]["new"])
    assert (
        zabbix("host.assign_templates", "x", host="shop3", templates=[]).changes["shop3"]["new"] == "Host templates: "
    )
    assert (
        zabbix("host.assign_templates", "x", host="shop3", templates=["no"]).comment == "Unable to find template: no."
    )
    failed = zabbix("host.assign_templates", "x", host="no", templates=[])
    assert failed.comment == "Unable to update templates on host: no."
    assert zabbix("template.is_present", name).comment == f'Zabbix Template "{name}" exists.'
    assert zabbix("template.is_present", "no").result is False
    group = frontend.call("hostgroup.get", {"filter": {"name": "Templates"}})[0]["groupid"]
    frontend.call("template.create", {"host": "mine", "groups": [{"groupid": group}]})
    assert zabbix("template.absent", "mine").comment == 'Zabbix Template "mine" deleted.'
    assert zabbix("template.absent", "mine").comment == 'Zabbix Template "mine" does not exist.'


def test_definitions(zabbix, frontend):
    [host] = frontend.call("host.get", {"filter": {"host": "Zabbix server"}})
    numbers = {"hostid": host["hostid"], "mappings": [{"value": 1, "newvalue": "one"}, {"value": 2, "newvalue": "two"}]}
    made = zabbix("valuemap.present", "numbers", params=numbers)
    assert made.comment == 'Zabbix Value map "numbers" created.'
    fixed = zabbix("valuemap.present", "numbers", params={**numbers, "mappings": numbers["mappings"][:1]})
    assert fixed.changes["numbers"]["new"] == 'Zabbix Value map "numbers" fixed.'
    assert zabbix("valuemap.absent", "numbers").comment == 'Zabbix Value map "numbers" deleted.'
    group = {"groupid": {"query_object": "hostgroup", "query_name": "Virtual machines"}}
    action = {
        "eventsource": 1, "status": 0,
        "filter": {"evaltype": 2, "conditions": [{"conditiontype": 24, "operator": 2, "value": "kvm"}]},
        "operations": [{"operationtype": 2}, {"operationtype": 4, "opgroup": [group]}],
    }  # fmt: skip
    action["eventsource"] = 2
    made = zabbix("action.present", "VMs", params=action)
    assert made.comment == 'Zabbix Action "VMs" created.'
    correct = zabbix("action.present", "VMs", params=action)
    assert correct.comment == 'Zabbix Action "VMs" already exists and corresponds to a definition.'
    fixed = zabbix("action.present", "VMs", params={**action, "status": 1})
    assert "differed in following parameters: {'status': '1'}" in fixed.changes["VMs"]["old"]
    unknown = {
        **action,
        "operations": [{"operationtype": 4, "opgroup": [{"groupid": {**group["groupid"], "query_name": "no"}}]}],
    }
    assert "Object does not exist" in zabbix("action.present", "VMs", params=unknown).comment
    assert zabbix("action.absent", "VMs").comment == 'Zabbix Action "VMs" deleted.'


def test_servers_that_do_not_answer(converge, zabbix, frontend):
    assert "Incorrect user name" in zabbix("hostgroup.present", "x", _connection_password="wrong").comment
    assert "zabbix.user and zabbix.password" in zabbix("hostgroup.present", "x", _connection_user=None).comment
    assert "refused" in zabbix("hostgroup.present", "x", _connection_url="http://127.0.0.1:1/zabbix").comment
    assert "no http://" in zabbix("hostgroup.present", "x", _connection_url="file:///etc/passwd.php").comment
    assert "404" in zabbix("hostgroup.present", "x", _connection_url=f"{frontend.url}/../none.php").comment


def test_lists_fit_in_any_order():
    assert fits([{"a": 1}, {"a": 2}], [{"a": "2", "b": "0"}, {"a": "1"}])
    assert not fits([{"a": 1}, {"a": 1}], [{"a": "1"}, {"a": "2"}])
    assert not fits({"a": 1}, [])
    assert fits({"a": True}, {"a": "1"})


def test_interfaces_keep_their_ids():
    wanted = interfaces_of([{"b": {"type": "agent", "main": False}}, {"a": {"type": "agent"}}, {"i": {"type": "ipmi"}}])
    existing = [{"interfaceid": "7", "type": "1", "main": "0"}, {"interfaceid": "8", "type": "1", "main": "1"}]
    assert [one.get("interfaceid") for one in paired(wanted, existing)] == ["8", None, "7"]
    snmp = {"version": 3, "securitylevel": 2, "securityname": "u", "authpassphrase": "x"}
    [one] = interfaces_of([{"s": [{"type": "SNMP"}, {"details": [snmp]}]}])
    assert (one["port"], one["details"]["privprotocol"], one["details"]["authpassphrase"]) == ("161", "0", "x")
    with pytest.raises(StateFailed, match="type is one of agent"):
        interfaces_of([{"s": {"type": "tin"}}])


def test_the_module(frontend, tmp_path):
    """Each function, with what it makes taken away again."""
    pillar = {
        "zabbix": {"user": "Admin", "password": "zabbix"},
        "zabbix.url": frontend.url.removesuffix("api_jsonrpc.php"),
    }
    modules = Modules(Context(minion_id="m", make_pillar=lambda: pillar))

    def call(fun, *args, **kwargs):
        return modules.call(f"zabbix.{fun}", args, kwargs)

    assert re.fullmatch(r"\d+\.\d+\.\d+", call("apiinfo_version"))
    assert call("get_zabbix_id_mapper")["hostgroup"] == "groupid"
    [group] = call("hostgroup_create", "module")
    assert call("hostgroup_exists", "module") is True
    assert call("hostgroup_exists", groupid=group) is True
    assert call("hostgroup_update", group, name="module2") == [group]
    assert call("hostgroup_get", "module2")[0]["groupid"] == group
    assert call("hostgroup_get", "module") is False
    assert group in [one["groupid"] for one in call("hostgroup_list")]
    assert call("get_object_id_by_params", "hostgroup", {"filter": {"name": "module2"}}) == group
    query = {"query_object": "hostgroup", "query_name": "module2"}
    assert call("substitute_params", {"a": [1, query]}) == {"a": ["1", group]}
    agent = {"type": 1, "main": 1, "useip": 1, "ip": "192.0.2.1", "dns": "", "port": "10050"}
    [host] = call("host_create", "h1", [group], [agent], visible_name="H 1")
    assert call("host_exists", "h1") is True
    assert call("host_get", name="H 1")[0]["hostid"] == host
    assert call("host_update", host, visible_name="H 2", groups=[group]) == [host]
    assert host in [one["hostid"] for one in call("host_list")]
    assert call("host_inventory_get", host) is False
    call("host_inventory_set", host, alias="a", asset_tag="t")
    call("host_inventory_set", host, clear_old=True, alias="b")
    found = call("host_inventory_get", host)
    assert (found["alias"], found["asset_tag"]) == ("b", "")
    [interface] = call("hostinterface_create", host, "192.0.2.2", if_type=4)
    assert len(call("hostinterface_get", host)) == 2
    assert call("hostinterface_update", interface, port=12346) == [interface]
    assert call("hostinterface_delete", interface) == [interface]
    macro = call("usermacro_create", "{$M}", "1", host)
    assert call("usermacro_update", macro, "2") == macro
    assert call("usermacro_get", "{$M}", hostids=host)[0]["value"] == "2"
    assert call("usermacro_delete", macro) == [macro]
    shared = call("usermacro_createglobal", "{$M}", "1")
    assert call("usermacro_updateglobal", shared, "3") == shared
    assert call("usermacro_get", "{$M}", globalmacro=True)[0]["value"] == "3"
    assert call("usermacro_deleteglobal", shared) == [shared]
    [users] = call("usergroup_create", "module")
    assert call("usergroup_exists", "module") is True
    assert call("usergroup_update", users, debug_mode=1) == [users]
    assert call("usergroup_get", "module")[0]["debug_mode"] == "1"
    assert users in [one["usrgrpid"] for one in call("usergroup_list")]
    [user] = call("user_create", "mod", "An.0ther7xx", [users], roleid=1, firstname="Mo")
    assert call("user_exists", "mod") is True
    media = [{"mediatypeid": "1", "sendto": ["a@example.org"]}]
    assert call("user_update", user, medias=media, surname="D") == [user]
    assert call("user_get", "mod")[0]["name"] == "Mo"
    assert call("user_getmedia", user)[0]["sendto"] == ["a@example.org"]
    assert user in [one["userid"] for one in call("user_list")]
    assert call("user_delete", user) == [user]
    assert call("usergroup_delete", users) == [users]
    [kind] = call("mediatype_create", "module", 1, exec_path="a.sh")
    assert call("mediatype_update", kind, name="module2") == [kind]
    assert call("mediatype_get", "module2")[0]["exec_path"] == "a.sh"
    assert call("mediatype_delete", kind) == [kind]
    assert call("template_get", host="Linux by Zabbix agent")[0]["templateid"]
    assert call("run_query", "host.get", {"filter": {"host": "none"}}) is False
    exported = call("run_query", "configuration.export", {"format": "json", "options": {"hosts": [host]}})
    (tmp_path / "host.json").write_text(exported)
    assert call("host_delete", host) == [host]
    done = call("configuration_import", f"{tmp_path}/host.json", file_format="json")
    assert done["result"] is True, done["message"]
    assert call("host_delete", [one["hostid"] for one in call("host_get", "h1")])
    assert call("configuration_import", f"{tmp_path}/host.json", file_format="xml")["result"] is False
    assert call("hostgroup_delete", group) == [group]
    assert call("compare_params", {"a": 1, "b": [2]}, {"a": "1", "b": ["3"]}) == {"b": [2]}
    assert call("compare_params", "x", "y", return_old_value=True) == {"new": "x", "old": "y"}
    assert call("host_get") is False
    for fun, words, said in (
        ("host_exists", (), "Please submit"),
        ("usergroup_exists", (), "Please submit"),
        ("get_object_id_by_params", ("nothing",), "no objects nothing"),
        ("run_query", ("host.nothing", {}), "Incorrect method"),
    ):
        with pytest.raises(CallFailed, match=said):
            call(fun, *words)


def test_the_first_password(converge, frontend):
    """The last one: the first password is too plain to be set again."""
    given = {"_connection_url": frontend.url, "_connection_user": "x", "_connection_password": "zabbix"}
    assert converge("zabbix_user.admin_password_present", "x", **given).comment == "Admin password is correct."
    lacking = converge("zabbix_user.admin_password_present", "x", _connection_url=frontend.url)
    assert lacking.comment.startswith("Could not find any Zabbix Admin password")
    changed = converge("zabbix_user.admin_password_present", "x", password="Another.Secret7", **given)
    assert changed.changes == {"passwd": "changed"}
    assert "Secret7" not in changed.comment
    wrong = converge("zabbix_user.admin_password_present", "x", _connection_url=frontend.url, password="no")
    assert "none of the passwords" in wrong.comment
