good:
  test.succeed_with_changes: []
two names:
  test.nop:
    - names: [one, two]
fails:
  test.fail_without_changes:
    - name: wrong
after it:
  test.nop:
    - require: [test: fails]
not needed:
  test.nop:
    - onlyif: 'false'
no change:
  test.nop:
    - onchanges: [test: after it]
told:
  test.nop:
    - fire_event: True
told by name:
  test.nop:
    - fire_event: my/name
