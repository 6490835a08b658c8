base:
  '*':
    - motd
  'stage:prod':
    - match: grain
    - motd_prod
