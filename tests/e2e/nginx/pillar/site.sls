site:
  name: e2e.example
  port: 18480
  greeting: Hello
  headers:
    X-Release: one
