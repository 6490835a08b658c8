{% if grains['id'] == 'web1' %}
broken:
  test.fail_without_changes
{% else %}
fine:
  test.succeed_without_changes
{% endif %}
