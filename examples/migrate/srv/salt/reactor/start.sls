apply:
  local.state.apply:
    - tgt: {{ data['id'] }}
