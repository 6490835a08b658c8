"""Who may have what done: people of this machine, holders of tokens, and what is kept of each decision."""
