{%- from 'map.jinja' import root, paths with context %}

include:
  - common.directories

release-file:
  file.managed:
    - name: {{ root }}/{{ paths.etc }}/release
    - contents: |
        {{ grains['id'] }} runs {{ pillar['release']['name'] }} {{ pillar['release']['version'] }}
        owner: {{ salt['pillar.get']('contact:email', 'nobody') }}
    - require:
      - sls: common.directories
