"""Salt's own functional tests of states and modules, run against `saltern call --local`."""
