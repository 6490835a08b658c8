"""What connected machines say for a preview: answers that templates need, and test runs of a sample."""
