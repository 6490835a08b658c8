"""Pillar: SLS files by their top file, and the external sources that are merged over them."""
