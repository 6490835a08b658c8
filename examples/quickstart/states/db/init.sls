{%- from 'map.jinja' import root, paths with context %}
{%- from 'macros.jinja' import config_file %}

include:
  - common.directories
  - db.cluster

{{ config_file('db-config', root ~ '/' ~ paths.etc ~ '/db/db.conf', 'salt://db/files/db.conf.j2', mode='0640') }}
    - require:
      - sls: common.directories
