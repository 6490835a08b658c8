web:
  listen: 8080
  workers: {{ 4 if grains['num_cpus'] > 4 else 2 }}
  options:
    keepalive: 15
  vhosts:
    www.example.org:
      root: /srv/www
    {%- if grains['id'] == 'web1' %}
    static.example.org:
      root: /srv/static
    {%- endif %}
