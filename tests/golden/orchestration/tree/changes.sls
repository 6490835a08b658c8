moved:
  test.succeed_with_changes
