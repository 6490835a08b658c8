{% set web = pillar['web'] %}
web-data:
  docker_volume.present: []

web-net:
  docker_network.present:
    - subnet: {{ web['subnet'] }}

# Runs once: the file that it makes keeps it from running again.
prepared:
  docker_container.run:
    - name: web-prepare
    - image: {{ web['image'] }}
    - command: sh -c 'echo ready > /host/prepared'
    - binds:
      - {{ web['folder'] }}:/host
    - networks:
      - web-net
    - rm: True
    - creates: {{ web['folder'] }}/prepared
    - require:
      - docker_network: web-net

web:
  docker_container.running:
    - image: {{ web['image'] }}
    - command: sleep 86400
    - stop_signal: KILL
    - environment:
      - GREETING: {{ web['greeting'] | yaml_dquote }}
    - binds:
      - web-data:/data
    - networks:
      - web-net
    - require:
      - docker_volume: web-data
      - docker_network: web-net
      - docker_container: prepared
