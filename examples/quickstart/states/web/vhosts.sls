{%- from 'map.jinja' import root, paths with context %}

include:
  - web.config

{%- for host, settings in salt['pillar.get']('web:vhosts', {}).items() %}

vhost-{{ host }}:
  file.managed:
    - name: {{ root }}/{{ paths.etc }}/web/sites-available/{{ host }}.conf
    - makedirs: True
    - contents: |
        server_name {{ host }};
        root {{ settings.root }};
    - require:
      - file: web-config

vhost-{{ host }}-enabled:
  file.symlink:
    - name: {{ root }}/{{ paths.etc }}/web/sites-enabled/{{ host }}.conf
    - target: ../sites-available/{{ host }}.conf
    - makedirs: True
    - require:
      - file: vhost-{{ host }}
    - onchanges_in:
      - cmd: web-reload
{%- endfor %}
