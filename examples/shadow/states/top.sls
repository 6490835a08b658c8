base:
  '*':
  - motd
