# The side that nobody uses gets the new version; when it is well, it is the one that is used.
{% set version = pillar['version'] %}
{% set side = pillar['side'] %}

deploy:
  salt.state:
    - tgt: 'side:{{ side }}'
    - tgt_type: grain
    - sls: app
    - pillar:
        app: {version: '{{ version }}'}

well:
  salt.function:
    - name: file.file_exists
    - tgt: 'side:{{ side }}'
    - tgt_type: grain
    - arg:
      - {{ pillar.get('root', '/srv') }}/app/version
    - require:
      - salt: deploy

switch:
  salt.runner:
    - name: event.send
    - arg: [balancer/use]
    - kwarg:
        data: {side: {{ side }}, version: '{{ version }}'}
    - require:
      - salt: well
