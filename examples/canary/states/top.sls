base:
  'web*':
    - app
