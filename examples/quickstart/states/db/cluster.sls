{%- from 'map.jinja' import root, paths with context %}

db-initialised:
  cmd.run:
    - name: mkdir -p {{ root }}/{{ paths.srv }}/db && date +%s > {{ root }}/{{ paths.srv }}/db/initialised
    - creates: {{ root }}/{{ paths.srv }}/db/initialised
    - require:
      - file: db-config
