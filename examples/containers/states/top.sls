base:
  '*':
    - docker
    - cluster
