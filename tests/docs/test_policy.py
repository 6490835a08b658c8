"""docs/policy.md: every key and default is right, and every example is a policy."""

from __future__ import annotations

from controller.config.settings import load_file
from controller.policy.policy import DriftPolicy, EventPolicy, Policy, PreviewPolicy
from controller.policy.reading import read_policy
from controller.policy.rollout import Gate, RolloutPolicy
from controller.rollouts.rollout import Phase
from highstate.files import MemoryFiles
from options.durations import parse_seconds
from reactors.remediation import RetryPolicy

PAGE = "docs/policy.md"
VALUES = {"[]": (), "(none)": None, "1": 1, "2": 2, "true": True, "false": False, "[role, roles]": ("role", "roles")}
"""Defaults that are no texts, as the table writes them."""


def read(text: str) -> Policy:
    return read_policy(MemoryFiles({"base": {"saltern.yaml": text.encode()}}))


def test_every_example_is_a_policy(pages):
    blocks = [block for page in pages.values() for block in page.blocks("yaml") if "# saltern.yaml" in block.text]
    assert len(blocks) >= 4
    for block in blocks:
        read(block.text)
    assert all("# saltern.yaml" in block.text for block in pages[PAGE].blocks("yaml"))


def test_the_first_example_is_the_defaults(pages):
    assert read(pages[PAGE].blocks("yaml")[0].text) == Policy()


def test_every_key_and_default(pages, rows, coded):
    table = {row[0].strip("`"): row for row in rows(pages[PAGE].prose) if len(row) == 4}
    sections = {"drift": DriftPolicy(), "previews": PreviewPolicy(), "events": EventPolicy(), "retry": RetryPolicy()}
    plain = {name: getattr(Policy(), name) for name in Policy.__struct_fields__ if name not in sections}
    for section, each in sections.items():
        plain |= {f"{section}.{name}": getattr(each, name) for name in each.__struct_fields__}
    assert set(table) == set(plain)
    assert plain.pop("rollout") is None
    assert table.pop("rollout")[2] == "(none)"
    for key, row in table.items():
        default = row[2].strip("`").replace("(empty)", "")
        if key in (
            "reactor",
            "rules",
            "schedule",
            "beacons",
            "windows",
            "policies",
            "ignore_differences",
            "notifications",
        ):
            assert (default, Policy().reactor.entries, Policy().rules.rules) == ("", (), ())
            assert (Policy().schedule.jobs, Policy().beacons, Policy().windows, Policy().policies) == ({}, (), (), ())
            assert (Policy().ignore_differences, Policy().notifications.routes) == ((), ())
            continue
        wanted = parse_seconds(default) if row[1].startswith("time") else VALUES.get(default, default)
        assert plain[key] == wanted, key
        for value in coded(row[1]):
            head, _, tail = key.rpartition(".")
            read(f"{head}:\n  {tail}: {value}\n" if head else f"{tail}: {value}\n")


def test_times_are_written_as_said(pages, coded):
    line = next(line for line in pages[PAGE].prose.splitlines() if line.startswith("A time is"))
    for time in [text for text in coded(line) if text[0].isdigit()]:
        assert parse_seconds(time) > 0


def test_every_key_of_rollouts(pages, rows):
    page = pages["docs/rollouts.md"]
    table = {row[0].strip("`"): row for row in rows(page.prose) if len(row) == 4}
    table.pop("Key of `rollout", None)
    default = RolloutPolicy()
    assert set(table) == set(RolloutPolicy.__struct_fields__)
    for key, row in table.items():
        said, value = row[2].strip("`"), getattr(default, key)
        if row[1] == "time":
            assert parse_seconds(said) == value, key
        else:
            assert said == {None: "(none)", (): "(empty)"}.get(value, str(value)), key
    phases = {row[0].strip("`") for row in rows(page.section("Commands")) if len(row) == 2}
    assert {each.value for each in Phase} <= phases
    kinds = {row[0].strip("`") for row in rows(page.section("Gates")) if len(row) == 2}
    assert set(Gate(command="x").kinds) == kinds - {"Key"}


def test_the_example_of_a_rollout_is_one(root):
    found = read((root / "examples/rollouts/saltern.yaml").read_text()).rollout
    assert [wave.name for wave in found.waves] == ["test", "production"]
    settings = load_file(root / "examples/rollouts/controller.conf")
    assert found.waves[0].gates[0].command in settings.rollout_commands
    assert settings.prometheus_url
