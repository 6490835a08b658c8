"""Arguments of states and execution functions: their types, and the one converter from SLS and CLI values to them.

A function's signature is the only description of what it takes. Called by the engine (states) and the loader
(execution functions); documentation, lint and `sys.argspec` read the same signatures.
"""

from minion.arguments.spec import ArgumentSpec, BadValues, Parameter, spec_of
from minion.arguments.types import SUPPLIED, Ignored, Reads, Unfit, Unsupported

__all__ = [
    "SUPPLIED",
    "ArgumentSpec",
    "BadValues",
    "Ignored",
    "Parameter",
    "Reads",
    "Unfit",
    "Unsupported",
    "spec_of",
]
