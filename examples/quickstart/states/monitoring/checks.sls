{%- from 'map.jinja' import root, paths with context %}
{%- import_yaml 'monitoring/checks.yaml' as checks %}

{%- for check in checks %}

check-{{ check.name }}:
  file.managed:
    - name: {{ root }}/{{ paths.etc }}/monitoring/checks.d/{{ check.name }}.conf
    - makedirs: True
    - contents: {{ check.command | yaml_dquote }}
    - require_in:
      - file: monitoring-agent
{%- endfor %}
