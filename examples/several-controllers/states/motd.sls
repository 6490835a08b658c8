motd:
  file.managed:
    - name: {{ grains.get('root', '') }}/etc/motd
    - makedirs: true
    - contents: version 1
