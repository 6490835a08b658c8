"""`make predictions`: what a preview says of random edits, against what their merge then does."""
