base:
  '*':
    - databases
