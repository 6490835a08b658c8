base:
  ca:
    - policies
