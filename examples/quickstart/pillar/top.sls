base:
  '*':
    - release
    - services
  'web*':
    - web
  'G@roles:db':
    - db
