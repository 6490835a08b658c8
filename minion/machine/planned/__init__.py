"""The machine as a run under test=True would have left it by now, in memory."""
