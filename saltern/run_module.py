"""`python -m saltern.run_module MODULE ARGUMENTS...`: a module of the rooms as a process of its own.

Used by `controller.compilation.workers`, which starts compile workers: their environment stays as it is, because what a
worker starts inherits it.
"""

import runpy
import sys

from saltern import find_rooms

find_rooms()
module = sys.argv.pop(1)
runpy.run_module(module, run_name="__main__", alter_sys=True)
