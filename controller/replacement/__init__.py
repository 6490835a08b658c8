"""`saltern migrate agent`: a stock salt-minion is replaced by the minion of Saltern, and back."""
