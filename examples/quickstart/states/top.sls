base:
  '*':
    - common
    - common.motd
    - monitoring
  'web*':
    - web
    - web.vhosts
  'roles:db':
    - match: grain
    - db
    - db.tuning
  'L@web1,db1 and G@kernel:Linux':
    - backup
