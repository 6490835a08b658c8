db-config:
  file.managed:
    - name: {{ grains['root'] }}/db.conf
    - contents: port {{ pillar['port'] }}
    - makedirs: True
