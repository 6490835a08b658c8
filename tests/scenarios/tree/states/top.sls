base:
  '*':
    - app
  'db*':
    - db
