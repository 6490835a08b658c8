"""Compiles on other machines, by way of Dask distributed (docs/adr/0031)."""
