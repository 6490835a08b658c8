apply_{{ data['id'] }}:
  local.state.apply:
    - tgt: {{ data['id'] }}

{% if data['id'].startswith('web-') %}
tell_the_balancers:
  local.service.reload:
    - tgt: 'role:lb'
    - tgt_type: grain
    - args:
      - name: haproxy
    - require:
      - local: apply_{{ data['id'] }}
{% endif %}
