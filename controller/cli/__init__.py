"""The command line: `saltern VERB`. A verb's module is loaded when the verb is used, so that the others cost nothing.

stdout carries data, stderr logs and progress. Exit codes: see `controller.cli.failure`.
"""

from controller.cli.main import main

__all__ = ["main"]
