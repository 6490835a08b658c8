"""The controllers of a minion: where they are, which of them it talks to, and a connection to each."""
