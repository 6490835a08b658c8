"""The language: render, compile, run. No sockets, no git, no disk of its own."""
