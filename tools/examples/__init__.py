"""`make example NAME=…`: examples of examples/ on this machine, with what they need started and removed again."""
