page:
  file.managed:
    - name: {{ grains.get('root', '') }}/etc/page.conf
    - makedirs: true
    - contents: title = Welcome
