db:
  settings:
    max_connections: 100
    fsync: "on"
