motd:
  path: /etc/motd
  text: This machine is managed.
  token: correct-horse-battery
