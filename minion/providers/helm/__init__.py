"""Helm: charts, releases and repositories by the program `helm`."""
