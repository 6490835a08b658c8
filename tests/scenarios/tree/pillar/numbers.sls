number: 0
port: 5432
