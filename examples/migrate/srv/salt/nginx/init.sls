{%- from 'nginx/map.jinja' import nginx with context %}
nginx:
  pkg.installed:
    - name: {{ nginx.package }}
  service.running:
    - enable: True
    - watch:
      - file: /etc/nginx/nginx.conf

/etc/nginx/nginx.conf:
  file.managed:
    - source: salt://nginx/files/nginx.conf
    - template: jinja
    - context:
        user: {{ nginx.user }}
        workers: {{ nginx.workers }}
    - require:
      - pkg: nginx

/etc/nginx/key.pem:
  x509.private_key_managed:
    - bits: 4096

temperature:
  module.run:
    - sensors.sense:
