include:
  - db_settings

db:
  port: 5432
  password: correct-horse
  tuning: |
    shared_buffers = 128MB
    work_mem = 4MB
