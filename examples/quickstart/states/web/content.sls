{%- from 'map.jinja' import root, paths with context %}

web-content:
  file.recurse:
    - name: {{ root }}/{{ paths.srv }}/htdocs
    - source: salt://web/files/htdocs
    - file_mode: '0644'
    - makedirs: True
