broken:
  test.fail_without_changes
