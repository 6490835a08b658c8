base:
  ca:
    - authority
