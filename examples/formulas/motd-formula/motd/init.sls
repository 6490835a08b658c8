{% from 'motd/map.jinja' import motd with context %}
motd:
  file.managed:
    - name: {{ grains.get('root', '') }}{{ motd.path }}
    - source: salt://motd/motd.jinja
    - template: jinja
    - makedirs: true
    - context:
        stage: {{ motd.stage }}
        lines: {{ motd.lines | json }}
