{# Data of a key request: the id, and `act`, which is `pend` for a key that waits. #}
{% if data['act'] == 'pend' and data['id'].startswith('web-') %}
accept_{{ data['id'] }}:
  wheel.key.accept:
    - args:
      - match: {{ data['id'] }}
{% endif %}
