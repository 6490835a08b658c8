base:
  'web*':
    - good
  'db*':
    - changes
