"""Runners: functions of the controller, by Salt's names; the modules are in `modules`."""
