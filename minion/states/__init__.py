"""State modules, written plan-first: `minion.machine.plan` has the contract, `minion.engine.registry` finds them."""
