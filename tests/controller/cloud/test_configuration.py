"""Salt's files of providers, profiles and maps."""

import pytest

from controller.cloud.configuration import load_cloud
from controller.cloud.errors import CloudFailed
from controller.cloud.maps import plan_map, read_map


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "cloud").write_text("minion: {master: salt.example.org}\nssh_username: admin\n")
    (tmp_path / "cloud.providers").write_text("base: {driver: dummy, creds: hidden, size: Small}\n")
    (tmp_path / "cloud.providers.d").mkdir()
    (tmp_path / "cloud.providers.d/b.conf").write_text("other: {extends: 'base:dummy', ssh_username: root}\n")
    (tmp_path / "cloud.profiles.d").mkdir()
    (tmp_path / "cloud.profiles.d/a.conf").write_text(
        "web: {provider: base, image: Ubuntu, minion: {grains: {role: web}}}\n"
        "big: {extends: web, provider: 'other:dummy', size: Large, minion: {grains: {big: true}}}\n"
    )
    return tmp_path


def test_a_profile_says_more_than_its_provider_and_that_more_than_the_file(folder):
    cloud = load_cloud(folder)
    web, big = cloud.profile("web"), cloud.profile("big")
    assert (web.provider.alias, web.options["size"], web.options["ssh_username"]) == ("base", "Small", "admin")
    assert (big.provider.alias, big.options["size"], big.options["ssh_username"]) == ("other", "Large", "root")
    assert big.options["minion"] == {"master": "salt.example.org", "grains": {"role": "web", "big": True}}
    assert "hidden" not in repr(web)


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("cloud.profiles", "x: {image: a}", "the profile 'x' has no `provider`"),
        ("cloud.profiles", "x: {provider: bas}", "there is no provider 'bas'"),
        ("cloud.profiles", "x: {provider: 'base:ec2'}", "there is no provider 'base:ec2'"),
        ("cloud.profiles", "x: {extends: y}\ny: {extends: x}", "extends itself: x -> y -> x"),
        ("cloud.profiles", "x: {extends: y}", "extends 'y', which is not there"),
        ("cloud.profiles", "x: [a]", "is a list, not a mapping"),
        ("cloud.profiles", "x: [", "cloud.profiles:2: this is no YAML"),
        ("cloud.providers", "x: {id: a}", "the provider 'x' has no `driver`"),
        ("cloud", "- a", "cloud holds no mapping"),
    ],
)
def test_what_cannot_be_used(folder, file, text, says):
    (folder / file).write_text(text)
    with pytest.raises(CloudFailed, match=says):
        load_cloud(folder).profile("x")


def test_forms_of_maps(folder):
    path = folder / "map"
    path.write_text(
        "web:\n  - web1\n{% for n in [2, 3] %}  - web{{ n }}: {size: s{{ n }}, map_grains: {n: {{ n }}}}\n{% endfor %}"
        "big:\n  db2: {provider: base}\n  db1: {minion: {grains: {role: db}}, requires: [web1]}\n"
    )
    found = read_map(path, load_cloud(folder))
    assert list(found) == ["web1", "web2", "web3", "db2", "db1"]
    assert found["web2"].options["size"] == "s2"
    assert found["web3"].options["grains"] == {"n": 3}
    assert found["db1"].options["minion"]["grains"] == {"role": "db", "big": True}
    assert (found["db2"].provider.alias, found["db1"].provider.alias) == ("base", "other")
    assert (found["db2"].options["size"], found["db2"].options["ssh_username"]) == ("Large", "admin")
    assert found["db1"].options["ssh_username"] == "root"


def test_a_plan_makes_what_is_not_there_and_a_hard_one_destroys_the_rest(folder):
    path = folder / "map"
    path.write_text("web: [web1, {web2: {requires: [web3]}}, {web3: {requires: web1}}, web4]\n")
    wanted = read_map(path, load_cloud(folder))
    plan = plan_map(wanted, {("base", "web4"), ("base", "old"), ("other", "web1")})
    assert plan.levels == (("web3",), ("web2",))
    assert list(plan.create) == ["web3", "web2"]
    assert list(plan.existing) == ["web1", "web4"]
    assert plan.destroy == ()
    hard = plan_map(wanted, {("base", "web4"), ("base", "old"), ("other", "web1")}, hard=True)
    assert hard.destroy == (("base", "old"), ("other", "web1"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("web: [{a: {requires: [b]}}, {b: {requires: [a]}}]", "require each other"),
        ("web: [{a: {requires: [x]}}]", "'a' requires 'x', which the map does not name"),
        ("web: [a]\nbig: [a]", "names 'a' twice"),
        ("nope: [a]", "there is no profile 'nope'"),
        ("web: [1]", "no name with options: 1"),
        ("web: {{ x }}", "cannot be rendered"),
        ("", "a map is a mapping"),
    ],
)
def test_maps_that_cannot_be_used(folder, text, says):
    path = folder / "map"
    path.write_text(text)
    with pytest.raises(CloudFailed, match=says):
        plan_map(read_map(path, load_cloud(folder)), set())
