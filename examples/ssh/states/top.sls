base:
  'edge*':
    - motd
