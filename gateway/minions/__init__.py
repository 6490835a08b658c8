"""One stock minion: what it asks here, and what the controller asks of it."""
