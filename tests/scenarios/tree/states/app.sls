include:
  - base

app-config:
  file.managed:
    - name: {{ grains['root'] }}/app.conf
    - source: salt://app.conf.j2
    - template: jinja
    - require:
      - file: root

app-told:
  cmd.run:
    - name: echo "$(cat {{ grains['root'] }}/app.conf)" >> {{ grains['root'] }}/told
    - onchanges:
      - file: app-config
