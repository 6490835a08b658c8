deploy:
  runner.state.orchestrate:
    - args:
      - mods: orch.canary
      - pillar:
          version: '{{ data['version'] }}'
