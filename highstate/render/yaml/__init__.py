"""YAML as Salt reads it, and the renderers made of it."""
