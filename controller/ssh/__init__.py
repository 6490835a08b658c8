"""Machines without an agent of their own: a controller starts one there over ssh, for a visit (docs/adr/0040)."""
