"""Modules that come with a tree, in Salt's contract: loaded and called in one place, below minion and controller.

`store` keeps them by content address, `loader` loads them with Salt's dunders (`dunders`), `salt_compat` is what they
import of Salt. The minion calls them through `states` and `grains`, a compile through `compile_modules`. What they may
call is supplied by the process that loads them (`ports`). One broken module never hides the others: it is named in
`UserModules.failures` and in the message when it is asked for.
"""
