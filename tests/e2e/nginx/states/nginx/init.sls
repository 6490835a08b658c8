{%- from "nginx/map.jinja" import nginx with context %}

nginx:
  pkg.installed:
    - name: {{ nginx.package }}
  service.running:
    - name: {{ nginx.service }}
    - enable: True
    - reload: True
    - require:
      - pkg: nginx
    - watch:
      - file: nginx-site
      - file: nginx-default-site

nginx-default-site:
  file.absent:
    - name: /etc/nginx/sites-enabled/default
    - require:
      - pkg: nginx

nginx-site:
  file.managed:
    - name: /etc/nginx/conf.d/saltern-test.conf
    - source: salt://nginx/files/site.conf.jinja
    - template: jinja
    - mode: '0644'
    - context:
        root: {{ nginx.root }}
    - require:
      - pkg: nginx

nginx-page:
  file.managed:
    - name: {{ nginx.root }}/index.html
    - source: salt://nginx/files/index.html.jinja
    - template: jinja
    - makedirs: True
    - mode: '0644'
