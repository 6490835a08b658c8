"""docs/reference is what its generators make of the code."""

import pytest

from tools.docs import api_reference, cli_reference, policy_reference, settings_reference

GENERATORS = [api_reference, cli_reference, policy_reference, settings_reference]


@pytest.mark.parametrize("generator", GENERATORS, ids=lambda module: module.__name__)
def test_the_page_is_current(generator):
    assert generator.PAGE.read_text() == generator.page(), f"run: python -m {generator.__name__}"


def test_every_verb_and_key_is_there(pages):
    from controller.cli.main import VERBS
    from controller.config.settings import LANGUAGE, OWN, PORTS, RENDERERS, ROOTS
    from controller.policy.policy import Policy
    from minion.config.rules import RULES

    commands = pages["docs/reference/cli.md"].anchors()
    assert {f"saltern-{verb}" for verb in VERBS} <= commands
    keys = pages["docs/reference/policy.md"].text
    assert [key for key in Policy.__struct_fields__ if f"| `{key}` |" not in keys] == []
    settings = pages["docs/reference/settings.md"].text
    assert [name for name in (*RULES, *OWN, *LANGUAGE, *PORTS, *RENDERERS, *ROOTS) if f"`{name}`" not in settings] == []
