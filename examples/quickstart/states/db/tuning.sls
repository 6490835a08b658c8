{%- from 'map.jinja' import root, paths with context %}

include:
  - db

extend:
  db-config:
    file:
      - backup: minion

db-tuning:
  file.managed:
    - name: {{ root }}/{{ paths.etc }}/db/tuning.conf
    - contents_pillar: db:tuning
    - require:
      - file: db-config

db-restart-needed:
  test.nop:
    - onfail:
      - file: db-tuning
