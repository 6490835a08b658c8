version:
  file.managed:
    - name: {{ grains.get('root', '') }}/srv/app/version
    - makedirs: true
    - contents: '1.0'

# The app does not start with a version that it does not know.
starts:
  cmd.run:
    - name: grep -qE '^[0-9.]+$' {{ grains.get('root', '') }}/srv/app/version
    - onchanges:
      - file: version
