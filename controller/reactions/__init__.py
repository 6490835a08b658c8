"""Events answered: which SLS of reactors, rendered where, and what is done."""
