nginx:
  workers: 4
