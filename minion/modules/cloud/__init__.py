"""The execution module of machines of clouds."""
