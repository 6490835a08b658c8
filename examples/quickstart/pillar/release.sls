release:
  name: quickstart
  version: 1.0.0
contact:
  email: ops@example.org
motd: Pushed, not pulled.
