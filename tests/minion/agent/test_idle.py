"""What an agent that waits holds in memory: nothing that only its children need."""

import subprocess
import sys

HEAVY = (
    *("asyncio", "email", "highstate.compile", "highstate.render", "http.client", "jinja2", "mako", "psutil", "pygit2"),
    *("cryptography", "ssl", "subprocess", "urllib.request", "yaml"),
    *("docker", "hvac", "kubernetes", "libcloud", "minion.providers", "pymemcache", "redis", "requests", "sqlite3"),
)
IDLE = """
import sys
from pathlib import Path
from minion.agent.agent import Agent
from minion.agent.child_tasks import collect_grains
from minion.agent.settings_reader import settings_from_child

settings = settings_from_child(Path(sys.argv[1]))
agent = Agent(settings, (), collect=lambda: collect_grains(settings), umask=0o022)
agent.links.receive = lambda timeout, readers: (agent.stop(), ([], []))[1]
agent.run()
assert agent._grains.grains["id"] == "web1" and "os" in agent._grains.grains
print([name for name in sys.argv[2:] if name in sys.modules])
"""


def test_an_agent_that_has_read_its_settings_and_grains_holds_no_yaml_jinja_or_psutil(tmp_path):
    (tmp_path / "minion").write_text(f"id: web1\ncachedir: {tmp_path / 'cache'}\n")
    (tmp_path / "cache").mkdir()
    command = [sys.executable, "-c", IDLE, str(tmp_path), *HEAVY]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1:] == ["[]"], done.stderr
