# One minion gets the new version first, then the others, half of them at a time. Does any fail, all go back.
{% set version = pillar['version'] %}
{% set before = pillar.get('before', '1.0') %}
{% set broken = pillar.get('broken', []) %}

canary:
  salt.state:
    - tgt: web1
    - sls: app
    - pillar:
        app: {version: '{{ version }}', broken: {{ broken | json }}}

rest:
  salt.state:
    - tgt: 'web* and not web1'
    - tgt_type: compound
    - sls: app
    - batch: 50%
    - pillar:
        app: {version: '{{ version }}', broken: {{ broken | json }}}
    - require:
      - salt: canary

rollback:
  salt.state:
    - tgt: 'web*'
    - sls: app
    - pillar:
        app: {version: '{{ before }}'}
    - onfail_any:
      - salt: canary
      - salt: rest
