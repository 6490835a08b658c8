"""The forked process of one run or call."""
