base:
  'web*':
    - page
