base:
  '*':
    - servers
    - databases
