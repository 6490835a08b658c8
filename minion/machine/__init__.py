"""The machine as states see it: the types of a plan, what a plan may look at, what an act may do."""
