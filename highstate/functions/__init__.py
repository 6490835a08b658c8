"""`salt[...]` of templates: Salt's execution functions that need nothing but the minion's data and the tree.

A module here is a table of functions `f(call: FunctionCall, *arguments)`; `FunctionCall` (`call`) is what they may see,
`catalog` puts the tables together. Functions of the live machine are not here: a caller with such a machine passes them
as `RenderContext.functions`.
"""
