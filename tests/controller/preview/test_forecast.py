"""Services that restart on whole groups, and the rules of the policy that a change breaks."""

from controller.policy.policy import PreviewPolicy
from controller.preview.folding import Fleet
from controller.preview.forecast import FleetGroup, groups_of, restarts
from controller.preview.service_acts import ServiceAct
from controller.preview.violations import changed_rules, violations
from controller.schema.reports import ChangeClass, ResourceChange

GRAINS = {
    "web1": {"role": "web", "roles": ["edge", "tls"]},
    "web2": {"role": "web", "roles": ["edge"]},
    "db1": {"role": "db", "roles": "edge"},
}
GROUPS = groups_of(GRAINS, ("role", "roles"))
RESTART = (ServiceAct("nginx", "restart", True),)


def test_groups_are_values_of_grains_that_several_minions_have():
    assert [(each.name, sorted(each.minions)) for each in GROUPS] == [
        ("role edge", ["db1", "web1", "web2"]),
        ("role web", ["web1", "web2"]),
    ]


def test_a_service_that_restarts_on_a_whole_group_is_told_first():
    acts = {"web1": RESTART, "web2": RESTART, "db1": (ServiceAct("postgres", "restart", False),)}
    web, db = restarts(acts, GROUPS, Fleet.of(GRAINS))
    assert (web.service, web.action, web.folded, web.certain) == ("nginx", "restart", "web[1-2]", True)
    assert web.whole_groups == ("role web (2 minions)",)
    assert (db.service, db.certain, db.whole_groups) == ("postgres", False, ())


def broken_rules(policy, *resources, acts=None):
    classes = (ChangeClass(id="1", minions=("web1", "web2"), folded="web[1-2]", resources=resources),)
    services = restarts(acts or {}, (*GROUPS, FleetGroup("nodegroup all", frozenset(GRAINS))), Fleet.of(GRAINS))
    return [(each.rule, each.approvable) for each in violations(policy, classes, services)]


def resource(function, action="added", irreversible=""):
    return ResourceChange(action=action, key="x", title="x", function=function, irreversible=irreversible)


def test_rules_of_the_policy():
    purge = resource("pkg.purged", irreversible="gone")
    assert broken_rules(PreviewPolicy(), purge, acts={"web1": RESTART, "web2": RESTART}) == []
    assert broken_rules(PreviewPolicy(max_minions=1), purge) == [("previews.max_minions", False)]
    assert broken_rules(PreviewPolicy(max_minions=2), purge) == []
    assert broken_rules(PreviewPolicy(forbid=("pkg.*",)), purge) == [("previews.forbid", False)]
    assert broken_rules(PreviewPolicy(forbid=("pkg.*",)), resource("pkg.purged", "removed")) == []
    assert broken_rules(PreviewPolicy(irreversible="approve"), purge) == [("previews.irreversible", True)]
    assert broken_rules(PreviewPolicy(irreversible="approve"), resource("test.nop")) == []
    whole = PreviewPolicy(whole_group="approve")
    assert broken_rules(whole, purge, acts={"web1": RESTART, "web2": RESTART}) == [("previews.whole_group", True)]
    assert broken_rules(whole, purge, acts={"web1": RESTART}) == []
    reload = (ServiceAct("nginx", "reload", True),)
    assert broken_rules(whole, purge, acts={"web1": reload, "web2": reload}) == []


def test_what_the_head_changes_in_the_rules_is_told():
    told = changed_rules(PreviewPolicy(max_minions=5), PreviewPolicy(forbid=("cmd.run",), comment="new"))
    assert told == (
        "saltern.yaml: previews.max_minions: 5 -> (none), from the merge on",
        'saltern.yaml: previews.forbid: [] -> ["cmd.run"], from the merge on',
        "saltern.yaml: previews.comment: update -> new, from the merge on",
    )
