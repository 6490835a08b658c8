"""What is to be done for a minion: the facts, the instructions, and the pure decision from the one to the other."""
