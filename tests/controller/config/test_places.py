"""The socket that the command line finds without reading the whole configuration is that of the whole."""

import socket
import subprocess
import sys

import pytest

from controller.config.places import known_socket
from controller.config.settings import load_settings


def listening(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as here:
        here.bind(str(path))


@pytest.mark.parametrize("text", ["", "sock_dir: {0}/s\n", "root_dir: {0}\n", "root_dir: {0}\nsock_dir: /r/s\n"])
def test_it_is_where_the_configuration_says(tmp_path, text):
    (tmp_path / "controller.d").mkdir()
    (tmp_path / "controller").write_text(f"root_dir: {tmp_path}\n")
    (tmp_path / "controller.d" / "a.conf").write_text(text.format(tmp_path))
    wanted = load_settings(tmp_path).socket
    assert known_socket(tmp_path) is None, "nobody listens"
    listening(wanted)
    assert known_socket(tmp_path) == wanted


@pytest.mark.parametrize("text", ["sock_dir: [a]\n", "sock_dir: here\n", "sock_dir: {\n"])
def test_what_is_wrong_is_for_the_whole_configuration_to_say(tmp_path, text):
    (tmp_path / "controller").write_text(text)
    assert known_socket(tmp_path) is None


def test_a_command_imports_no_settings_and_no_second_command_line():
    code = "import sys, controller.cli.client; print([name for name in sys.modules if name in sys.argv[1:]])"
    names = ["controller.config.settings", "pygments"]
    done = subprocess.run([sys.executable, "-c", code, *names], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
