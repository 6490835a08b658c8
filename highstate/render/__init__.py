"""Render: a template of the tree and a minion become data (an SLS) or text (a file).

Called by compile, pillar, top and content. Jinja in Salt's sandbox, then YAML or JSON by Salt's rules; every read
of the minion's data and of the tree is recorded, and results are memoised by what they read. No I/O but `Files`.
"""
