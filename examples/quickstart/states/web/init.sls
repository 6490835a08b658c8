include:
  - web.config
  - web.content
  - web.reload
