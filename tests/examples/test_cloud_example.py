"""examples/cloud: its files are read, and its map is planned as the README says."""

from pathlib import Path

from controller.cloud.accounts.existing_machines import ExistingMachines
from controller.cloud.configuration import load_cloud
from controller.cloud.deployment import target_for
from controller.cloud.maps import plan_map, read_map

FOLDER = Path(__file__).parents[2] / "examples" / "cloud"


def test_the_map_is_planned_as_its_readme_says():
    cloud = load_cloud(FOLDER)
    wanted = read_map(FOLDER / "shop.map", cloud)
    assert {name: profile.provider.alias for name, profile in wanted.items()} == {
        "db1": "aws", "web1": "aws", "web2": "aws", "web3": "aws", "build1": "racks",
    }  # fmt: skip
    assert plan_map(wanted, set()).levels == (("db1", "build1"), ("web1", "web2", "web3"))
    assert wanted["db1"].options["grains"] == {"roles": ["database"]}
    assert wanted["web1"].options["minion"]["master"] == "controller.example.org"
    build = ExistingMachines().create("build1", wanted["build1"])
    assert (target_for(build, wanted["build1"]).host, target_for(build, wanted["build1"]).sudo) == ("192.0.2.7", False)
