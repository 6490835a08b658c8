fine:
  test.succeed_without_changes
