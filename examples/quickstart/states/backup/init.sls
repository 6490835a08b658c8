{%- from 'map.jinja' import root, paths with context %}

backup-script:
  file.managed:
    - name: {{ root }}/{{ paths.etc }}/backup.sh
    - source: salt://backup/backup.sh
    - mode: '0755'
    - makedirs: True

old-backup-script:
  file.absent:
    - name: {{ root }}/{{ paths.etc }}/backup-old.sh
    - require:
      - file: backup-script
