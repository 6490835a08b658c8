"""From facts about a minion to what is done: the decision, the work queue, the plan, policy, status."""
