"""The execution module `x509`: its functions by name."""

from __future__ import annotations

from minion.modules.x509 import authority, create, read, sign

FUNCTIONS = {**create.FUNCTIONS, **read.FUNCTIONS, **authority.FUNCTIONS, **sign.FUNCTIONS}
