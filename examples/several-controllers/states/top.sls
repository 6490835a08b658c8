base:
  'web*':
    - motd
