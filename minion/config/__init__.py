"""The minion's configuration: its files, put together as Salt does, and its options."""
