"""Compiles for calls: states that somebody asks for beside the desired state."""
