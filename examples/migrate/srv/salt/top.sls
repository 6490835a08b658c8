base:
  '*':
    - base
  'role:web':
    - match: grain
    - nginx
