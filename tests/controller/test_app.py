"""The process of the controller: what it holds in memory."""

import subprocess
import sys

LEFT_OUT = {"alembic", "highstate.compile", "highstate.render.pipeline", "hvac", "jinja2", "mako", "rich"}
LEFT_OUT |= {"sqlalchemy.dialects.postgresql", "dask", "distributed", "tornado"}


def test_what_only_compile_workers_and_terminals_need_is_not_loaded():
    """Each of these is several MiB of a process that is always there."""
    script = (
        "import sys\n"
        "from controller.cli.verbs.controller import leave_out_rich\n"
        "leave_out_rich()\n"
        "import controller.app\n"
        "from controller.adapters.secrets import keyring\n"
        f"print(*sorted({LEFT_OUT!r} & {{name for name, module in sys.modules.items() if module}}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
