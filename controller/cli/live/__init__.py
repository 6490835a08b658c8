"""What verbs show on a terminal for as long as somebody looks: `status --watch`, `top`, `rollout watch`."""
