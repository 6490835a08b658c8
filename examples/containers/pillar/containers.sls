web:
  image: registry.example.org/web:1.4
  subnet: 10.20.0.0/24
  folder: /srv/web
  greeting: hello
shop:
  password: change-me
  tag: '1.4'
  replicas: 2
  node: node-1
