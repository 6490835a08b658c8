version:
  file.managed:
    - name: {{ grains.get('root', '') }}/srv/app/version
    - makedirs: true
    - contents: '1.0'
