{% if not data['nginx']['running'] %}
start_nginx:
  local.service.start:
    - tgt: {{ data['id'] }}
    - args:
      - name: nginx
{% endif %}
