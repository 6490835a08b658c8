{#- saltern call saltcheck.run_state_tests common -#}
{%- from 'map.jinja' import root, paths with context %}

release file is there:
  module_and_function: file.file_exists
  args:
    - {{ root }}/{{ paths.etc }}/release
  assertion: assertTrue

release file names the minion:
  module_and_function: file.read
  args:
    - {{ root }}/{{ paths.etc }}/release
  assertion: assertIn
  expected_return: {{ grains['id'] }} runs

directories are there:
  module_and_function: file.stats
  args:
    - {{ root }}/{{ paths.srv }}
  assertions:
    - assertion: assertEqual
      assertion_section: type
      expected_return: dir
    - assertion: assertEqual
      assertion_section: mode
      expected_return: '0750'
