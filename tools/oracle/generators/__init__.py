"""Random trees for the comparison with Salt."""
