base:
  '*':
    - common
  'web*':
    - web
