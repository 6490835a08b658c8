"""State modules, written plan-first: `minion.states.plan` has the contract, one module here for each of Salt's."""
