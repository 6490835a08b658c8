base:
  'web*':
    - watch
