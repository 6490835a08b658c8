/etc/app.conf:
  file.managed:
    - name: {{ grains.get('root', '') }}/etc/app.conf
    - makedirs: true
    - mode: '0644'
    - contents: workers = 4

/etc/app.d/extra.conf:
  file.managed:
    - name: {{ grains.get('root', '') }}/etc/app.d/extra.conf
    - makedirs: true
    - contents: debug = no
