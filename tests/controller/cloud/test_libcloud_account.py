"""Accounts by Libcloud: its dummy, and EC2 by moto, which keeps what it is asked to make."""

import time

import pytest
from cloud_files import ec2

from controller.cloud.accounts.accounts import account_of
from controller.cloud.configuration import CloudProvider, MachineProfile
from controller.cloud.errors import CloudFailed
from controller.cloud.queries import list_machines, list_offers


def provider(driver, alias="mine", **options):
    return CloudProvider(alias=alias, driver=driver, options={"driver": driver, **options})


def profile(of, **options):
    return MachineProfile(name="web", provider=of, options={**of.options, **options})


def test_the_dummy_of_libcloud():
    of = provider("dummy", creds="x")
    account = account_of(of)
    assert "Ubuntu 9.10" in account.offers("images")
    assert account.offers("sizes")["Small"]["ram"] == 128
    assert account.offers("locations")["London Loft"]["country"] == "GB"
    before = {each.id for each in account.machines()}
    made = account.create("web1", profile(of, image="Ubuntu 9.10", size="Small"))
    assert made.state == "RUNNING"
    assert account.reached(made, 1.0, time.sleep).public_ips
    assert account.act(made, "reboot") is True
    account.destroy(made)
    assert {each.id for each in account.machines()} == before


def test_machines_of_ec2():
    with ec2() as (options, image):
        of = CloudProvider(alias="mine", driver="ec2", options=options)
        account = account_of(of)
        assert account.machines() == []
        wanted = profile(
            of, image=image, size="t3.micro", keyname="deploy", securitygroup="web", tag={"team": "shop"},
            availability_zone="eu-central-1a",
        )  # fmt: skip
        made = account.create("web1", wanted)
        up = account.reached(made, 30.0, time.sleep)
        assert (up.name, up.state, up.image, up.size) == ("web1", "RUNNING", image, "t3.micro")
        assert up.extra["key_name"] == "deploy"
        assert up.extra["tags"]["team"] == "shop"
        assert [each["group_name"] if "group_name" in each else each["name"] for each in up.extra["groups"]] == ["web"]
        assert "eu-central-1a" in str(account.offers("locations"))
        assert account.act(up, "stop") is True
        account.destroy(up)
        assert account.machines() == [], "terminated ones are gone"
        for options, says in (
            ({"image": "ami-00000000"}, "find the image ami-00000000"),
            ({"image": image, "size": "huge"}, "has no size 'huge'"),
            ({"image": image}, "the profile has no `size`"),
        ):
            with pytest.raises(CloudFailed, match=says) as failed:
                account.create("web2", profile(of, **options))
            assert "hidden-key" not in str(failed.value)


def test_accounts_that_cannot_be_asked(tmp_path):
    from controller.cloud.configuration import CloudConfiguration

    with pytest.raises(CloudFailed, match="there are digitalocean, dummy, ec2"):
        account_of(provider("nimbusx"))
    with pytest.raises(CloudFailed, match="the provider 'mine'"):
        account_of(provider("nimbusx", libcloud={}))
    with pytest.raises(CloudFailed, match="Invalid region"):
        account_of(provider("ec2", id="a", key="b", location="nowhere"))
    away = provider("ec2", id="a", key="b", location="eu-central-1", endpoint="http://127.0.0.1:9")
    cloud = CloudConfiguration(folder=tmp_path, providers={"mine": away, "there": provider("saltify", "there")})
    with pytest.raises(CloudFailed, match="mine does not list its machines"):
        list_machines(cloud)
    assert list_offers(cloud, "images", "there") == {"there": {"saltify": {}}}
    with pytest.raises(CloudFailed, match="was there before"):
        account_of(provider("saltify")).destroy(account_of(provider("saltify")).create("a", profile(away)))
