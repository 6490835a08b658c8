"""The programs `salt`, `salt-call`, `salt-cp`, `salt-key` and `salt-run`: Salt's arguments, output and exit codes.

Installed by the distribution saltern-salt-names (ops/salt-names, docs/salt-names.md). What they do is that of
`saltern.client` and of the command line.
"""

from saltern import find_rooms

find_rooms()
