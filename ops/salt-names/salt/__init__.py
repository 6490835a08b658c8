"""The names of Salt that scripts import, answered by Saltern. What is in them: saltern.salt_names.

Nothing else is in this folder: modules of a tree get their own `salt.*` (extmods.salt_compat), whatever is installed.
"""

import os

from saltern.salt_names import install

if os.path.exists(os.path.join(os.path.dirname(__file__), "minion.py")):  # noqa: PTH110, PTH118, PTH120
    raise ImportError(
        "the distributions salt and saltern-salt-names are installed in one environment and have written over each "
        "other's files; uninstall both, then install the one that you want"
    )
install()
