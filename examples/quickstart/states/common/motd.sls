{%- from 'map.jinja' import root, paths with context %}
{%- from 'macros.jinja' import config_file %}

include:
  - common

{{ config_file('motd', root ~ '/' ~ paths.etc ~ '/motd', 'salt://common/motd.j2') }}
    - require:
      - file: directories
