{%- from 'map.jinja' import root, paths with context %}

include:
  - monitoring.checks

monitoring-agent:
  file.managed:
    - name: {{ root }}/{{ paths.etc }}/monitoring/agent.yaml
    - makedirs: True
    - contents: |
        host: {{ grains['id'] }}
        labels: {{ {'roles': grains.get('roles', []), 'release': pillar['release']['version']} | json }}
    - order: last
