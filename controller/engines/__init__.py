"""Engines: programs of the administrator that go on as long as the controller does, each in a process of its own."""
