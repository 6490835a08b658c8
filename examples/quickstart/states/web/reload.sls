{%- from 'map.jinja' import root, paths with context %}

# Stands for a service that is told of its new configuration: it runs only when something above it changed.
web-reload:
  cmd.run:
    - name: echo reloaded >> {{ root }}/{{ paths.log }}/web-reload.log
    - onchanges:
      - file: web-config
