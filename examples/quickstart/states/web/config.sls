{%- from 'map.jinja' import root, paths with context %}
{%- from 'macros.jinja' import config_file %}

include:
  - common.directories

{{ config_file('web-config', root ~ '/' ~ paths.etc ~ '/web/server.conf', 'salt://web/files/server.conf.j2',
               context={'workers': salt['pillar.get']('web:workers', 2)}) }}
    - require:
      - sls: common.directories
    - watch_in:
      - cmd: web-reload
