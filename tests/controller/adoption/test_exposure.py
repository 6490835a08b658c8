"""What a machine has does not come into git where it is a secret, or would be code there."""

import pytest

from controller.adoption.exposure import looks_secret, refuse_code, refuse_exposing
from controller.adoption.refusal import NotAdopted


@pytest.mark.parametrize(
    "line",
    [
        "password = hunter2",
        "  db_password: hunter2",
        "export API_KEY=abcdef",
        '"auth-token": "abc",',
        "psk => abcd",
        "#passphrase = old words",
    ],
)
def test_a_value_by_the_name_of_a_secret_looks_like_one(line):
    assert looks_secret(line)


@pytest.mark.parametrize(
    "line",
    ["PasswordAuthentication no", "password_file = /etc/x", "token_ttl: 30", "password_login = yes", "port = 5432", ""],
)
def test_switches_paths_and_small_numbers_are_no_secret(line):
    assert not looks_secret(line)


def test_lines_that_stay_are_not_looked_at_and_new_ones_are():
    refuse_exposing("password = hunter2\nx {{ y }}\n", "password = hunter2\nx {{ y }}\nport = 1\n")
    with pytest.raises(NotAdopted, match="called a secret"):
        refuse_exposing("port = 1\n", "port = 1\npassword = hunter2\n")
    with pytest.raises(NotAdopted, match="Jinja"):
        refuse_exposing("port = 1\n", "port = {% include 'x' %}\n")


@pytest.mark.parametrize(
    "path", ["web/init.sls", "_modules/x.py", "a/_states/y", "saltern.yaml", "x.jinja", "x.conf.j2"]
)
def test_code_of_the_tree_is_no_content(path):
    with pytest.raises(NotAdopted, match="code or policy"):
        refuse_code(path)


def test_other_files_are():
    for path in ("motd", "web/nginx.conf", "some_thing/app.yaml"):
        refuse_code(path)
