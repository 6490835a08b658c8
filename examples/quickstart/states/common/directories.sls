{%- from 'map.jinja' import root, paths with context %}

directories:
  file.directory:
    - names:
      - {{ root }}/{{ paths.etc }}
      - {{ root }}/{{ paths.log }}
      - {{ root }}/{{ paths.srv }}:
        - mode: '0750'
    - makedirs: True
