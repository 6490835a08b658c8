"""The runners: a module for each of Salt's, its functions in `FUNCTIONS`."""
