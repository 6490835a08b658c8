"""Rules of reactors: which event is answered, by what SLS, and what the reactions in it are."""
