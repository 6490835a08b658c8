"""The virtualenvs with real Salt: one with its extensions, and one with the release that still had all modules.

    python -m tools.oracle.venvs FOLDER

makes FOLDER/now and FOLDER/old, once. Modules that Salt gave up with 3008 without an extension that took them over
(memcached, gem, composer, ...) are those of `old`.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

NOW = (
    "salt==3008.1",
    "saltext.acme==1.0.0",
    "saltext.dockermod==0.1.3",
    "saltext.elasticsearch==1.2.3",
    "saltext.haproxy==1.0.0",
    "saltext.helm==1.0.0",
    "saltext.influxdb==1.0.0",
    "saltext.kubernetes==3.0.0",
    "saltext.mongodb==1.0.0",
    "saltext.mysql==1.1.0",
    "saltext.redis==1.0.2",
    "saltext.snap==1.0.0",
    "saltext.vault==1.8.0",
    "saltext.zabbix==1.0.0",
    "docker==7.2.0",
    "pymysql==1.2.4",
)
OLD = (
    "salt==3007.13",
    *("aiohttp", "contextvars", "croniter", "cryptography", "distro", "jinja2", "jmespath", "looseversion"),
    *("msgpack", "packaging", "psutil", "pycryptodomex", "pyopenssl", "python-dateutil", "python-gnupg", "pyyaml"),
    *("pyzmq", "requests", "tornado", "urllib3"),
    "lxml",
    "python-memcached==1.62",
)
"""That release does not name what it needs."""


def main(folder: Path) -> None:
    """Make those that are not there."""
    for name, packages in (("now", NOW), ("old", OLD)):
        if not (folder / name / "bin/salt-call").exists():
            venv.create(folder / name, with_pip=True)
            subprocess.run([folder / name / "bin/pip", "install", "-q", *packages], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
