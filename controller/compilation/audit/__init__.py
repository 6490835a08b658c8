"""Compiles of a sample, to find what pushes left out wrongly."""
