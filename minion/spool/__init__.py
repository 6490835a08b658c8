"""What lies on the minion's disk: desired state, journals, results that are not yet delivered, files of the tree."""
