{%- set tools = ['curl', 'vim'] %}
tools:
  pkg.installed:
    - pkgs: {{ tools | json }}

/etc/motd:
  file.managed:
    - contents: |
        {{ grains['id'] }} is managed
        by: {{ pillar['owner'] }}

deploy:
  user.present:
    - password: '{{ pillar['deploy_password'] }}'
