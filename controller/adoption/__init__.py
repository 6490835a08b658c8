"""A drift that should stay becomes a commit: what the machine has is written where git says otherwise.

machine_state   questions to the minion, and what it has now
differences     pure: what of that is not what the state asks for
written         where a value is written: lines of an SLS, keys of pillar
scalar_edit, function_edit, literal_lines   pure: one value of a text replaced, and nothing else
edits           the texts of the trees with all changes of a state
verification    pure: whether a preview of the commit says that the drift is gone, and what else it changes
branch          names and messages
adoptions       the way through all of these
"""
