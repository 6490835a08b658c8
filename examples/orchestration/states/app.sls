{% set app = pillar.get('app', {}) %}
{% set root = grains.get('root', '/srv') %}
{{ root }}/app/version:
  file.managed:
    - contents: '{{ app.get('version', '1.0') }}'
    - makedirs: True

{% if app.get('version') in app.get('broken', []) %}
health:
  test.fail_without_changes:
    - comment: version {{ app.version }} does not answer
    - require:
      - file: {{ root }}/app/version
{% endif %}
