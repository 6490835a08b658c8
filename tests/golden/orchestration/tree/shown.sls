shown:
  test.succeed_without_changes:
    - name: {{ pillar.get('word', 'nothing') }}
