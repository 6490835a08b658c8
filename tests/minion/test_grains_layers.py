"""`grains_blacklist` and `grains_deep_merge`, as Salt has them."""

from minion.grains import collect
from minion.grains.layers import laid_over, without_blacklisted


def test_what_the_blacklist_names_is_left_out():
    found = {"ip4_interfaces": {}, "ip6_interfaces": {}, "os": "Debian", "cpu_flags": []}
    assert without_blacklisted(found, {"grains_blacklist": ["ip?_*", "cpu_(flags|model)", "[("]}) == {"os": "Debian"}
    assert without_blacklisted(found, {}) == found


def test_static_grains_are_not_blacklisted():
    opts = {"grains_blacklist": ["*"]}
    assert collect({"role": "web"}, minion_id="web1", opts=opts) == {"role": "web"}


def test_mappings_are_merged_when_that_is_asked_for():
    below, above = {"a": {"x": 1, "y": [1]}, "b": 1}, {"a": {"y": [2], "z": 3}}
    assert laid_over(below, above, {}) == {"a": {"y": [2], "z": 3}, "b": 1}
    assert laid_over(below, above, {"grains_deep_merge": True}) == {"a": {"x": 1, "y": [2], "z": 3}, "b": 1}
    assert below == {"a": {"x": 1, "y": [1]}, "b": 1}
