"""docs/configuration.md names the options that there are, with their defaults, and its examples can be used."""

from __future__ import annotations

from pathlib import Path

import yaml

from controller.config import checks
from controller.config import settings as of_controller
from controller.config.sections import GIT_LISTS, GIT_PREFIXES
from controller.reload.option_changes import RELOADED
from gateway import settings as of_gateway
from gitfs.config.remotes import _WITHOUT_EFFECT, file_remotes, pillar_remotes
from gitfs.errors import BadRemoteSettings
from minion.config import rules as rules_of_minion
from minion.config import settings as of_minion
from minion.relay import settings as of_relay
from tools.docs import salt_options_table

PAGE = "docs/configuration.md"
LANGUAGE = {*of_controller.LANGUAGE, *of_controller.RENDERERS}
TREES = {*of_controller.ROOTS, *GIT_LISTS}
PASSED_ON = {*rules_of_minion.KNOWN} - {*rules_of_minion.RULES, *rules_of_minion.ALIASES}
KINDS = ("both", "states", "pillar")


def test_options_of_the_controller(pages, rows):
    page = pages[PAGE]
    documented = {
        option: default
        for title in ("Options of the controller", "Where the trees come from", "How the language is compiled")
        for option, default in defaults(rows(page.section(title))).items()
    }
    remote = options_of_remotes() | options_of_remotes(pillar=True)
    known = {*of_controller.OWN, *LANGUAGE, *TREES, "limits", "forges", "notifications"}
    known |= {name for name in GIT_PREFIXES if not name.endswith("_")}
    assert set(documented) == known | remote
    plain = of_controller.ControllerSettings()
    for option in of_controller.OWN:
        assert documented[option] == shown(getattr(plain, option)), option


def test_options_that_a_reload_takes(pages, coded):
    text = pages[PAGE].section("Reload")
    table = text.partition("<!-- reloaded options -->")[2].partition("<!-- end of reloaded options -->")[0]
    named = [name for line in table.splitlines() for name in coded(line.partition("|")[2].partition("|")[0])]
    assert sorted(named) == sorted(RELOADED)


def test_defaults_of_the_language(pages, rows):
    from highstate.compile import CompileOptions

    documented = defaults(rows(pages[PAGE].section("How the language is compiled")))
    ours = {
        "state_top_saltenv": "base",
        "allow_py_renderer": "true",
        "renderer_whitelist": "",
        "renderer_blacklist": "",
    }
    for option in LANGUAGE:
        default = ours[option] if option in ours else getattr(CompileOptions(), option)
        assert documented[option].lower() == shown(default).lower(), option


def test_options_of_a_remote(pages, rows):
    table = [row for row in rows(pages[PAGE].section("Where the trees come from")) if row[1] in KINDS]
    assert {row[0].strip("`") for row in table if row[1] != "pillar"} == options_of_remotes()
    assert {row[0].strip("`") for row in table if row[1] != "states"} == options_of_remotes(pillar=True)
    plain = file_remotes({"gitfs_remotes": ["/srv/x.git"]})[0]
    for name, _, _, default, *_ in table:
        option = name.strip("`")
        if option not in ("name", "base", "env", "saltenv"):
            found = getattr(plain if hasattr(plain, option) else plain.policy, option)
            assert value_of(default) == shown(found), option


def test_options_of_the_minion(pages, rows):
    documented = defaults(rows(pages[PAGE].section("Options of the minion")))
    assert set(documented) == {*rules_of_minion.RULES, *rules_of_minion.ALIASES}
    plain = of_minion.MinionSettings(id="x")
    for option in {*rules_of_minion.RULES} - {"id"}:
        assert documented[option] == shown(getattr(plain, option)), option


def test_options_that_are_passed_on(pages, coded):
    named = set(coded(pages[PAGE].section("Options that are passed on")))
    assert named >= PASSED_ON


def test_options_of_salt_that_are_none_here(pages):
    text = (Path(__file__).parents[2] / PAGE).read_text()
    assert salt_options_table.with_table(text) == text, "run: python -m tools.docs.salt_options_table"


def test_options_of_remotes_without_effect(pages, coded):
    named = coded(pages[PAGE].section("Where the trees come from"))
    for option in _WITHOUT_EFFECT:
        assert option in named
        assert not refusal_of(option), option


def test_yaml_parses(pages):
    for page in pages.values():
        for block in page.blocks("yaml", "yml"):
            yaml.safe_load(block.text)


def test_examples_of_configurations_can_be_used(pages, tmp_path):
    controllers = minions = relays = gateways = 0
    for page in pages.values():
        for number, block in enumerate(page.blocks("yaml")):
            folder = tmp_path / page.name.replace("/", "-") / str(number)
            if is_of_controller(block.text):
                write(folder / "controller", block.text)
                checks.check_git(of_controller.load_settings(folder))
                controllers += 1
            elif "# /etc/saltern/gateway" in block.text:
                write(folder / "gateway", block.text)
                settings_of_gateway = of_gateway.load_gateway_settings(folder)
                assert of_gateway.controllers_of(settings_of_gateway, folder)
                assert not settings_of_gateway.warnings, block.place
                gateways += 1
            elif "syndic_master" in block.text:
                write(folder / "relay", block.text)
                settings_of_relay = of_relay.load_relay_settings(folder)
                assert of_relay.controller_of(settings_of_relay, folder).controller_key
                assert not settings_of_relay.warnings, block.place
                relays += 1
            elif is_of_minion(block.text):
                write(folder / "minion", block.text)
                settings = of_minion.load_settings(folder)
                assert settings.master
                assert settings.controller_key
                assert not settings.warnings, block.place
                minions += 1
    assert controllers >= 3
    assert minions >= 2
    assert relays >= 1
    assert gateways >= 1


def is_of_controller(text: str) -> bool:
    return "# /etc/saltern/controller" in text or "gitfs_remotes:" in text


def is_of_minion(text: str) -> bool:
    return "# /etc/saltern/minion" in text or "controller_key:" in text


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(text)


def defaults(table) -> dict[str, object]:
    """Option -> default; in tables that say whom an option is for, that column is passed over."""
    found = {}
    for row in table:
        cells = [row[0], *row[2:]] if row[1] in KINDS else row
        found[cells[0].strip("`")] = value_of(cells[2])
    return found


def value_of(cell: str) -> object:
    """A default as written: code is YAML, anything else says in words that there is none or where it comes from."""
    return str(yaml.safe_load(cell.strip("`"))) if cell.startswith("`") else ""


def shown(value: object) -> str:
    """A default as the documents write it."""
    if isinstance(value, tuple):
        value = ", ".join(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value in ("", None, (), {}) and value is not False and value != 0 else str(value)


def refusal_of(option: str, *, pillar: bool = False) -> str:
    """What is said about an option of a remote that cannot be used."""
    options = [{option: "x"}]
    try:
        if pillar:
            pillar_remotes({"ext_pillar": [{"git": [{"main /srv/x.git": options}]}]})
        else:
            file_remotes({"gitfs_remotes": [{"/srv/x.git": options}]})
    except BadRemoteSettings as error:
        return str(error)
    return ""


def options_of_remotes(*, pillar: bool = False) -> set[str]:
    """The options that a remote may have: a name that is near none of them is answered with all of them."""
    said = refusal_of("0", pillar=pillar)
    return set(said.partition("known are ")[2].split(", "))
