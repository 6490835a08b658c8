"""The last stage of the language: low chunks → running dictionary, with requisites decided at run time.

Called by the minion's worker, by `saltern call` and by tests. The only effects are the executor's and the journal's,
which the caller brings; this package itself looks at nothing but its arguments.
"""
