"""Wheels: functions that look at and change what the controller itself holds; a module for each of Salt's."""
