database servers:
  pkg.installed:
    - pkgs:
      - mariadb-server
      - redis-server

{% for service in ('mariadb', 'redis-server') %}
{{ service }}:
  service.running:
    - enable: True
    - require:
      - pkg: database servers
{% endfor %}
