"""Options of Salt's programs that verbs do not have: each is told with its reason."""

import pytest

from controller.cli.main import run
from controller.cli.salt_options import WITHOUT_MEANING, reason_for


@pytest.mark.parametrize("option", [*WITHOUT_MEANING, "--log-level", "--no-parse", "--config-dump"])
def test_run_tells_why_it_does_not_have_an_option_of_salts(option, capsys):
    assert run(["run", option, "x", "*", "test.ping"]) == 64
    said = " ".join(capsys.readouterr().err.split())
    assert f"No such option '{option}'" in said
    assert reason_for("run", option) in said


def test_other_options_and_verbs_have_no_such_reason(capsys):
    assert run(["run", "--subsett", "2", "*", "test.ping"]) == 64
    assert "Did you mean '--subset'?" in capsys.readouterr().err
    assert run(["lint", "--priv", "x"]) == 64
    assert "means nothing here" not in capsys.readouterr().err
    assert reason_for("run", "--subset") == ""
