"""The execution module `file`: looks at files, and changes them.

The functions lie in the `file_*` modules beside, by what they do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.modules.file.edit import FUNCTIONS as EDIT
from minion.modules.file.find import FUNCTIONS as FIND
from minion.modules.file.label import FUNCTIONS as LABEL
from minion.modules.file.look import FUNCTIONS as LOOK
from minion.modules.file.managed import FUNCTIONS as MANAGED
from minion.modules.file.owner import FUNCTIONS as OWNER
from minion.modules.file.place import FUNCTIONS as PLACE

FUNCTIONS: Mapping[str, Any] = dict(sorted({**EDIT, **FIND, **LABEL, **LOOK, **MANAGED, **OWNER, **PLACE}.items()))
